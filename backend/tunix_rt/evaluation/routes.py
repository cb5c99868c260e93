"""/api/evaluations, eval sets, baselines, faithfulness, leaderboard."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, status
from fastapi.responses import StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome, Word
from tunix_rt.base.http.transfers import download, spooled
from tunix_rt.base.records import StorableText
from tunix_rt.engines.training.types import RUN_ID_PATTERN
from tunix_rt.evaluation import run_scores as run_evaluation_service
from tunix_rt.evaluation import service as evaluation_service
from tunix_rt.evaluation.comparison import regression as regression_service
from tunix_rt.evaluation.comparison.compare import compare_evaluations
from tunix_rt.evaluation.comparison.leaderboard import show_leaderboard
from tunix_rt.evaluation.comparison.regression import BASELINE_PATTERN
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Comparison, Leaderboard
from tunix_rt.evaluation.faithfulness.measure import FaithfulnessList, get_report, list_reports
from tunix_rt.evaluation.faithfulness.types import FaithfulnessReport
from tunix_rt.evaluation.rescore import rescore
from tunix_rt.evaluation.run_scores import RunEvaluation
from tunix_rt.evaluation.scoring import evalset_report as evalset_report
from tunix_rt.evaluation.service import iter_samples
from tunix_rt.evaluation.types import (
    DayOrMoment,
    Evaluation,
    EvaluationFilter,
    EvaluationOrder,
    ExtractionRule,
    PredictionFilter,
    Verdict,
)

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

router = APIRouter(prefix="/api/evalsets", tags=["evalsets"], responses=error_responses())


@router.get("")
def list_evalsets(home: OpenHome) -> evalset_report.EvalSetList:
    """The shipped eval sets and those in the home directory, with what they consist of."""
    return evalset_report.list_evalsets(home.settings)


@router.get("/{name}", responses=error_responses(404), response_model_exclude_defaults=True)
def get_evalset(
    name: str, home: OpenHome, limit: Limit = 20, offset: Offset = 0
) -> evalset_report.EvalSetDetail:
    """What an eval set consists of, and a page of its items. 404 if unknown, 422 if it cannot be used."""
    return evalset_report.get_evalset(home.settings, name, limit=limit, offset=offset)


evaluations_router = APIRouter(prefix="/api/evaluations", tags=["evaluations"], responses=error_responses())


def _found(evaluation_id: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, evaluation_id)


def _base(base: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, base)


def _other(other: UUID, home: OpenHome) -> Evaluation:
    return evaluation_service.get_evaluation(home, other)


Found = Annotated[Evaluation, Depends(_found)]
ItemId = Annotated[StorableText, Path(max_length=128)]


@evaluations_router.get("", response_model_exclude_none=True)
def list_evaluations(
    home: OpenHome,
    criteria: ChosenEvaluations,
    order: EvaluationOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> evaluation_service.EvaluationList:
    """A page of evaluations with the total, newest or best first."""
    return evaluation_service.list_evaluations(home, criteria, limit=limit, offset=offset, order=order)


@evaluations_router.get("/compare", responses=error_responses(404, 409), response_model_exclude_none=True)
def compare(
    base: Annotated[Evaluation, Depends(_base)],
    other: Annotated[Evaluation, Depends(_other)],
    home: OpenHome,
    allow_different_protocols: Annotated[
        bool, Query(description="pair the items that are the same, however they were asked")
    ] = False,
) -> Comparison:
    """How `other` differs from `base`, item by item, with the items that flipped.

    404 if either is unknown, 409 if they were evaluated in different ways.
    """
    return compare_evaluations(home, base, other, allow_different_protocols=allow_different_protocols)


@evaluations_router.get("/{evaluation_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_evaluation(evaluation: Found) -> Evaluation:
    """An evaluation: model, protocol and scores. 404 if unknown."""
    return evaluation


@evaluations_router.get(
    "/{evaluation_id}/items", responses=error_responses(404), response_model_exclude_none=True
)
def list_items(
    evaluation_id: UUID,
    home: OpenHome,
    criteria: ChosenPredictions,
    limit: Limit = 20,
    offset: Offset = 0,
) -> evaluation_service.PredictionList:
    """A page of what was written for the items, in the order of the eval set. 404 if unknown."""
    return evaluation_service.list_predictions(home, evaluation_id, criteria, limit=limit, offset=offset)


@evaluations_router.get(
    "/{evaluation_id}/items/{item_id:path}", responses=error_responses(404), response_model_exclude_none=True
)
def get_item(evaluation_id: UUID, item_id: ItemId, home: OpenHome) -> evaluation_service.EvaluatedItem:
    """One item: every sample with its checked steps and verdict. 404 if evaluation or item is unknown."""
    return evaluation_service.get_item(home, evaluation_id, item_id)


@evaluations_router.get(
    "/{evaluation_id}/samples.jsonl",
    responses=error_responses(404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_samples(evaluation: Found, home: OpenHome) -> StreamingResponse:
    """The items as lm-evaluation-harness writes its samples, one JSON object a line. 404 if unknown."""
    file = spooled(iter_samples(home, evaluation))
    return download(file, f"samples_{evaluation.evaluation_id}.jsonl", "application/x-ndjson")


@evaluations_router.post(
    "/{evaluation_id}/rescore",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(404, 409, 501),
    response_model_exclude_none=True,
)
def rescore_evaluation(evaluation: Found, home: OpenHome) -> Evaluation:
    """Judge the stored texts with the present extractor and checkers, as a new evaluation.

    404 if unknown, 409 if the items that were asked are gone, 501 if a checker's extra is not installed.
    """
    return rescore(home, evaluation)


@evaluations_router.delete(
    "/{evaluation_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409)
)
def delete_evaluation(evaluation_id: UUID, home: OpenHome) -> None:
    """Remove an evaluation; a run keeps its own copy. 404 if unknown, 409 while it is a baseline."""
    evaluation_service.delete_evaluation(home, evaluation_id)


faithfulness_router = APIRouter(prefix="/api", tags=["faithfulness"], responses=error_responses())


@faithfulness_router.get("/faithfulness", response_model_exclude_none=True)
def list_faithfulness(home: OpenHome) -> FaithfulnessList:
    """Every report that `tunix-rt eval faithfulness` left in the home directory, newest first."""
    return list_reports(home.settings)


@faithfulness_router.get(
    "/evaluations/{evaluation_id}/faithfulness",
    responses=error_responses(404),
    response_model_exclude_none=True,
)
def list_faithfulness_of_evaluation(evaluation_id: UUID, home: OpenHome) -> FaithfulnessList:
    """The reports about the model of an evaluation, newest first. 404 if the evaluation is unknown."""
    return list_reports(home.settings, evaluation_service.get_evaluation(home, evaluation_id).model)


@faithfulness_router.get(
    "/faithfulness/{report_id}", responses=error_responses(404), response_model_exclude_none=True
)
def get_faithfulness(report_id: UUID, home: OpenHome) -> FaithfulnessReport:
    """A report with every trial and every text. 404 if unknown."""
    return get_report(home.settings, report_id)


regression_router = APIRouter(
    prefix="/api/regression", tags=["regression"], responses=error_responses(), route_class=CheckedRoute
)

BaselineName = Annotated[str, Path(pattern=BASELINE_PATTERN)]


@regression_router.post(
    "/baselines",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409),
    response_model_exclude_none=True,
)
def set_baseline(
    request: regression_service.NewBaseline, home: OpenHome
) -> regression_service.StoredBaseline:
    """Name an evaluation and the rule that later ones must pass; a name that is taken is given anew.

    404 if run or evaluation is unknown, 409 if it is of another eval set or dataset than the request says.
    """
    return regression_service.set_baseline(home, request)


@regression_router.get("/baselines", response_model_exclude_none=True)
def list_baselines(home: OpenHome) -> regression_service.BaselineList:
    """Every baseline, by name."""
    return regression_service.list_baselines(home)


@regression_router.get("/baselines/{name}", responses=error_responses(404), response_model_exclude_none=True)
def get_baseline(name: BaselineName, home: OpenHome) -> regression_service.StoredBaseline:
    """A baseline. 404 if unknown."""
    return regression_service.get_baseline(home, name)


@regression_router.delete(
    "/baselines/{name}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404)
)
def delete_baseline(name: BaselineName, home: OpenHome) -> None:
    """Forget a baseline; its evaluation stays. 404 if unknown."""
    BaselineRepository(home.database).delete(name)


@regression_router.post("/check", responses=error_responses(400, 404, 409), response_model_exclude_none=True)
def check(
    request: regression_service.RegressionRequest, home: OpenHome
) -> regression_service.RegressionCheck:
    """Hold an evaluation against a baseline: pass or fail, and why. The verdict goes into its history.

    404 if run, evaluation or baseline is unknown, 409 if the two were evaluated in different ways.
    """
    return regression_service.check_regression(home, request)


@regression_router.get("/checks", response_model_exclude_none=True)
def list_checks(
    home: OpenHome,
    baseline: Annotated[
        str | None, Query(pattern=BASELINE_PATTERN, description="only the verdicts against this one")
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> regression_service.GateCheckList:
    """The verdicts that gates gave, here and by `tunix-rt gate`, newest first, removed baselines too."""
    return regression_service.list_checks(home, baseline, limit=limit, offset=offset)


run_evaluations_router = APIRouter(
    prefix="/api/tunix", tags=["run evaluations"], responses=error_responses(), route_class=CheckedRoute
)

RunId = Annotated[str, Path(pattern=RUN_ID_PATTERN)]


@run_evaluations_router.post(
    "/runs/{run_id}/evaluate",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409, 501),
    response_model_exclude_none=True,
)
def evaluate_run(
    run_id: RunId, home: OpenHome, request: run_evaluation_service.EvaluateRun | None = None
) -> RunEvaluation:
    """Judge the answers that a run's model has written, with the present extractor and checkers.

    Nothing is generated: `tunix-rt eval` does that. 404 if the run is unknown, 409 if it did not succeed or
    its model has no stored answers, 422 for an unknown judge, 501 if a checker's extra is not installed.
    """
    asked = request or run_evaluation_service.EvaluateRun()
    return run_evaluation_service.evaluate_run(home, run_id, asked)


@run_evaluations_router.get(
    "/runs/{run_id}/evaluation", responses=error_responses(404), response_model_exclude_none=True
)
def get_run_evaluation(run_id: RunId, home: OpenHome) -> RunEvaluation:
    """The newest evaluation of a run. 404 if there is none."""
    return run_evaluation_service.newest_evaluation(home, run_id)


@run_evaluations_router.get("/evaluations", response_model_exclude_none=True)
def list_scores(
    home: OpenHome,
    criteria: ChosenScores,
    limit: Limit = 50,
    offset: Offset = 0,
) -> run_evaluation_service.ModelScoreList:
    """A page of the scores of every model, best first, with the total.

    Only scores with one fingerprint are comparable: `/api/tunix/leaderboard` ranks those, with ties.
    """
    return run_evaluation_service.list_scores(home, criteria, limit=limit, offset=offset)


@run_evaluations_router.get("/leaderboard", response_model_exclude_none=True)
def get_leaderboard(
    home: OpenHome,
    criteria: ChosenEvaluations,
    shows_all: Annotated[bool, Query(description="every evaluation, not only the newest of a model")] = False,
) -> Leaderboard:
    """Models ranked among those that were evaluated in the same way, with ties and base models."""
    return show_leaderboard(home, criteria, shows_all=shows_all)
