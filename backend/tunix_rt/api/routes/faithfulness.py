"""Faithfulness reports: whether answers depend on the work that is shown."""

from uuid import UUID

from fastapi import APIRouter

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import OpenHome
from tunix_rt.core.evaluation.faithfulness import FaithfulnessReport
from tunix_rt.services import evaluations as evaluation_service
from tunix_rt.services.faithfulness_reports import FaithfulnessList, get_report, list_reports

router = APIRouter(prefix="/api", tags=["faithfulness"], responses=error_responses())


@router.get("/faithfulness", response_model_exclude_none=True)
def list_faithfulness(home: OpenHome) -> FaithfulnessList:
    """Every report that `tunix-rt eval faithfulness` left in the home directory, newest first."""
    return list_reports(home.settings)


@router.get(
    "/evaluations/{evaluation_id}/faithfulness",
    responses=error_responses(404),
    response_model_exclude_none=True,
)
def list_faithfulness_of_evaluation(evaluation_id: UUID, home: OpenHome) -> FaithfulnessList:
    """The reports about the model of an evaluation, newest first. 404 if the evaluation is unknown."""
    return list_reports(home.settings, evaluation_service.get_evaluation(home, evaluation_id).model)


@router.get("/faithfulness/{report_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_faithfulness(report_id: UUID, home: OpenHome) -> FaithfulnessReport:
    """A report with every trial and every text. 404 if unknown."""
    return get_report(home.settings, report_id)
