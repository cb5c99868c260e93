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
from tunix_rt.evaluation import run_scores, service
from tunix_rt.evaluation.comparison import regression
from tunix_rt.evaluation.comparison.compare import compare_evaluations
from tunix_rt.evaluation.comparison.leaderboard import show_leaderboard
from tunix_rt.evaluation.comparison.store import BaselineRepository, GateCheckRepository
from tunix_rt.evaluation.comparison.types import BASELINE_PATTERN, Comparison, GateCheckList, Leaderboard
from tunix_rt.evaluation.faithfulness.measure import FaithfulnessList, get_report, list_reports
from tunix_rt.evaluation.faithfulness.types import FaithfulnessReport
from tunix_rt.evaluation.rescore import rescore
from tunix_rt.evaluation.scoring import evalset_report
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import (
    DayOrMoment,
    Evaluation,
    EvaluationFilter,
    EvaluationList,
    EvaluationOrder,
    ExtractionRule,
    PredictionFilter,
    PredictionList,
    Verdict,
)

ModelWord = Annotated[Word, Query(description="part of the name of the model or of its base")]
RecipeWord = Annotated[Word, Query(description="part of the name of the recipe")]
DateFrom = Annotated[DayOrMoment | None, Query(description="not before this date or time, in UTC")]
DateTo = Annotated[DayOrMoment | None, Query(description="not after this date (inclusive) or time, in UTC")]


async def evaluation_filter(
    dataset: Word = None,
    model: ModelWord = None,
    recipe: RecipeWord = None,
    eval_set: Word = None,
    run_id: Word = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
) -> EvaluationFilter:
    """Filters of a list of evaluations."""
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
    """The same filters under the names of `/api/tunix`."""
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
    text: Annotated[
        Word, Query(description="part of the prompt, the expected answer or the completion")
    ] = None,
) -> PredictionFilter:
    """Filters of a list of predictions."""
    return PredictionFilter(
        verdict=verdict, section=section, category=category, difficulty=difficulty, rule=rule, text=text
    )


EvaluationCriteria = Annotated[EvaluationFilter, Depends(evaluation_filter)]

router = APIRouter(prefix="/api/evalsets", tags=["evalsets"], responses=error_responses())


@router.get("")
def list_evalsets(home: OpenHome) -> evalset_report.EvalSetList:
    """List the shipped eval sets and those in the home directory with their composition."""
    return evalset_report.list_evalsets(home.settings)


@router.get("/{name}", responses=error_responses(404), response_model_exclude_defaults=True)
def get_evalset(
    name: str, home: OpenHome, limit: Limit = 20, offset: Offset = 0
) -> evalset_report.EvalSetDetail:
    """The composition of an eval set and a page of its items. 404 if unknown, 422 if it is invalid."""
    return evalset_report.get_evalset(home.settings, name, limit=limit, offset=offset)


evaluations_router = APIRouter(prefix="/api/evaluations", tags=["evaluations"], responses=error_responses())


def _evaluation(evaluation_id: UUID, home: OpenHome) -> Evaluation:
    return service.get_evaluation(home, evaluation_id)


StoredEvaluation = Annotated[Evaluation, Depends(_evaluation)]
ItemId = Annotated[StorableText, Path(max_length=128)]


@evaluations_router.get("", response_model_exclude_none=True)
def list_evaluations(
    home: OpenHome,
    criteria: EvaluationCriteria,
    order: EvaluationOrder = "newest",
    limit: Limit = 20,
    offset: Offset = 0,
) -> EvaluationList:
    """List evaluations, newest or best first, with the total."""
    return EvaluationRepository(home.database).list(criteria, limit=limit, offset=offset, order=order)


@evaluations_router.get("/compare", responses=error_responses(404, 409), response_model_exclude_none=True)
def compare(
    home: OpenHome,
    *,
    allow_different_protocols: Annotated[
        bool, Query(description="compare the shared items even if the protocols differ")
    ] = False,
    base: UUID,
    other: UUID,
) -> Comparison:
    """Compare `other` with `base` item by item, including the items that flipped.

    404 if either is unknown, 409 if their protocols differ.
    """
    evaluations = service.get_evaluation(home, base), service.get_evaluation(home, other)
    return compare_evaluations(home, *evaluations, allow_different_protocols=allow_different_protocols)


@evaluations_router.get("/{evaluation_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_evaluation(evaluation: StoredEvaluation) -> Evaluation:
    """An evaluation: model, protocol and scores. 404 if unknown."""
    return evaluation


@evaluations_router.get(
    "/{evaluation_id}/items", responses=error_responses(404), response_model_exclude_none=True
)
def list_items(
    evaluation_id: UUID,
    home: OpenHome,
    criteria: Annotated[PredictionFilter, Depends(prediction_filter)],
    limit: Limit = 20,
    offset: Offset = 0,
) -> PredictionList:
    """List the predictions in the order of the eval set. 404 if unknown."""
    return EvaluationRepository(home.database).predictions(
        evaluation_id, criteria, limit=limit, offset=offset
    )


@evaluations_router.get(
    "/{evaluation_id}/items/{item_id:path}", responses=error_responses(404), response_model_exclude_none=True
)
def get_item(evaluation_id: UUID, item_id: ItemId, home: OpenHome) -> service.EvaluatedItem:
    """Every sample of one item with its checked steps and verdict. 404 if evaluation or item is unknown."""
    samples = EvaluationRepository(home.database).prediction(evaluation_id, item_id)
    return service.EvaluatedItem(evaluation_id=evaluation_id, item_id=item_id, samples=samples)


@evaluations_router.get(
    "/{evaluation_id}/samples.jsonl",
    responses=error_responses(404) | {200: {"content": {"application/x-ndjson": {}}}},
    response_class=StreamingResponse,
)
def export_samples(evaluation: StoredEvaluation, home: OpenHome) -> StreamingResponse:
    """Export the items in the samples format of lm-evaluation-harness, as JSON lines. 404 if unknown."""
    file = spooled(service.iter_samples(home, evaluation))
    return download(file, f"samples_{evaluation.evaluation_id}.jsonl", "application/x-ndjson")


@evaluations_router.post(
    "/{evaluation_id}/rescore",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(404, 409, 501),
    response_model_exclude_none=True,
)
def rescore_evaluation(evaluation: StoredEvaluation, home: OpenHome) -> Evaluation:
    """Judge the stored completions with the current extractor and checkers, as a new evaluation.

    404 if unknown, 409 if the items are no longer available, 501 if a checker's extra is not installed.
    """
    return rescore(home, evaluation)


@evaluations_router.delete(
    "/{evaluation_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409)
)
def delete_evaluation(evaluation_id: UUID, home: OpenHome) -> None:
    """Delete an evaluation; a run keeps its own copy. 404 if unknown, 409 while it is a baseline."""
    service.delete_evaluation(home, evaluation_id)


faithfulness_router = APIRouter(prefix="/api", tags=["faithfulness"], responses=error_responses())


@faithfulness_router.get("/faithfulness", response_model_exclude_none=True)
def list_faithfulness(home: OpenHome) -> FaithfulnessList:
    """List the reports of `tunix-rt eval faithfulness` in the home directory, newest first."""
    return list_reports(home.settings)


@faithfulness_router.get(
    "/evaluations/{evaluation_id}/faithfulness",
    responses=error_responses(404),
    response_model_exclude_none=True,
)
def list_faithfulness_of_evaluation(evaluation_id: UUID, home: OpenHome) -> FaithfulnessList:
    """List the reports on the model of an evaluation, newest first. 404 if the evaluation is unknown."""
    return list_reports(home.settings, service.get_evaluation(home, evaluation_id).model)


@faithfulness_router.get(
    "/faithfulness/{report_id}", responses=error_responses(404), response_model_exclude_none=True
)
def get_faithfulness(report_id: UUID, home: OpenHome) -> FaithfulnessReport:
    """A report with all trials and completions. 404 if unknown."""
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
def set_baseline(request: regression.NewBaseline, home: OpenHome) -> regression.StoredBaseline:
    """Name an evaluation as a baseline, with the rule for later ones; an existing name is replaced.

    404 if the run or evaluation is unknown, 409 if its eval set or dataset is not the requested one.
    """
    return regression.set_baseline(home, request)


@regression_router.get("/baselines", response_model_exclude_none=True)
def list_baselines(home: OpenHome) -> regression.BaselineList:
    """List the baselines by name."""
    return regression.list_baselines(home)


@regression_router.get("/baselines/{name}", responses=error_responses(404), response_model_exclude_none=True)
def get_baseline(name: BaselineName, home: OpenHome) -> regression.StoredBaseline:
    """A baseline. 404 if unknown."""
    return regression.get_baseline(home, name)


@regression_router.delete(
    "/baselines/{name}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404)
)
def delete_baseline(name: BaselineName, home: OpenHome) -> None:
    """Delete a baseline; its evaluation is kept. 404 if unknown."""
    BaselineRepository(home.database).delete(name)


@regression_router.post("/check", responses=error_responses(400, 404, 409), response_model_exclude_none=True)
def check(request: regression.RegressionRequest, home: OpenHome) -> regression.RegressionCheck:
    """Check an evaluation against a baseline: pass or fail, and why. The verdict is added to its history.

    404 if the run, evaluation or baseline is unknown, 409 if the two protocols differ.
    """
    return regression.check_regression(home, request)


@regression_router.get("/checks", response_model_exclude_none=True)
def list_checks(
    home: OpenHome,
    baseline: Annotated[
        str | None, Query(pattern=BASELINE_PATTERN, description="only the verdicts against this baseline")
    ] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> GateCheckList:
    """List verdicts from here and from `tunix-rt gate`, newest first, including deleted baselines."""
    return GateCheckRepository(home.database).list(baseline, limit=limit, offset=offset)


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
    run_id: RunId, home: OpenHome, request: run_scores.EvaluateRun | None = None
) -> run_scores.RunEvaluation:
    """Judge the stored answers of a run's model with the current extractor and checkers.

    Nothing is generated: `tunix-rt eval` does that. 404 if the run is unknown, 409 if it did not succeed or
    its model has no stored answers, 422 for an unknown judge, 501 if a checker's extra is not installed.
    """
    return run_scores.evaluate_run(home, run_id, request or run_scores.EvaluateRun())


@run_evaluations_router.get(
    "/runs/{run_id}/evaluation", responses=error_responses(404), response_model_exclude_none=True
)
def get_run_evaluation(run_id: RunId, home: OpenHome) -> run_scores.RunEvaluation:
    """The newest evaluation of a run. 404 if there is none."""
    return run_scores.newest_evaluation(home, run_id)


@run_evaluations_router.get("/evaluations", response_model_exclude_none=True)
def list_scores(
    home: OpenHome,
    criteria: Annotated[EvaluationFilter, Depends(score_filter)],
    limit: Limit = 50,
    offset: Offset = 0,
) -> run_scores.ModelScoreList:
    """List the scores of all models, best first, with the total.

    Only scores with the same fingerprint are comparable: `/api/tunix/leaderboard` ranks those, with ties.
    """
    return run_scores.list_scores(home, criteria, limit=limit, offset=offset)


@run_evaluations_router.get("/leaderboard", response_model_exclude_none=True)
def get_leaderboard(
    home: OpenHome,
    criteria: EvaluationCriteria,
    shows_all: Annotated[
        bool, Query(description="every evaluation, not only the newest one of each model")
    ] = False,
) -> Leaderboard:
    """Rank models that were evaluated with the same protocol, with ties and base models."""
    return show_leaderboard(home, criteria, shows_all=shows_all)
