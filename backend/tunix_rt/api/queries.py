"""What several routes read from the query string."""

from typing import Annotated

from fastapi import Depends, Query

from tunix_rt.base.http.routing import Word
from tunix_rt.core.evaluation.prediction import Verdict
from tunix_rt.core.evaluation.protocol import ExtractionRule
from tunix_rt.core.evaluation.store_types import DayOrMoment, EvaluationFilter, PredictionFilter

ModelWord = Annotated[Word, Query(description="stands in the name of the model or of its base")]
RecipeWord = Annotated[Word, Query(description="stands in the name of the recipe")]
DateFrom = Annotated[DayOrMoment | None, Query(description="not before this day or moment, in UTC")]
DateTo = Annotated[DayOrMoment | None, Query(description="not after this day (to its end) or moment, in UTC")]


async def evaluation_filter(
    dataset: Word = None,
    model: ModelWord = None,
    recipe: RecipeWord = None,
    eval_set: Word = None,
    run_id: Word = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
) -> EvaluationFilter:
    """Which evaluations are meant."""
    return EvaluationFilter(
        dataset=dataset,
        model=model,
        recipe=recipe,
        evalset=eval_set,
        run_id=run_id,
        date_from=date_from,
        date_to=date_to,
    )


async def score_filter(
    dataset_key: Word = None,
    model_id: ModelWord = None,
    config_path: RecipeWord = None,
    eval_set: Word = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
) -> EvaluationFilter:
    """The same, under the names of `/api/tunix`."""
    return EvaluationFilter(
        dataset=dataset_key,
        model=model_id,
        recipe=config_path,
        evalset=eval_set,
        date_from=date_from,
        date_to=date_to,
    )


async def prediction_filter(
    verdict: Verdict | None = None,
    section: Word = None,
    category: Word = None,
    difficulty: Word = None,
    rule: Annotated[ExtractionRule | None, Query(description="the rule that found the answer")] = None,
    text: Annotated[Word, Query(description="stands in prompt, expected answer or completion")] = None,
) -> PredictionFilter:
    """Which predictions of an evaluation are meant."""
    return PredictionFilter(
        verdict=verdict, section=section, category=category, difficulty=difficulty, rule=rule, text=text
    )


ChosenEvaluations = Annotated[EvaluationFilter, Depends(evaluation_filter)]
ChosenScores = Annotated[EvaluationFilter, Depends(score_filter)]
ChosenPredictions = Annotated[PredictionFilter, Depends(prediction_filter)]
