"""/api/tuning."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, status

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.records import pagination
from tunix_rt.models.types import ModelVersion
from tunix_rt.sweeps import service, tuning_jobs
from tunix_rt.sweeps.create import create
from tunix_rt.sweeps.service import Importances, importances, promote_best
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.sweeps.types import SweepDetail

router = APIRouter(
    prefix="/api/tuning/jobs", tags=["tuning"], responses=error_responses(), route_class=CheckedRoute
)

JobId = Annotated[str, Path(max_length=64, pattern=r"^[a-z0-9-]+$")]


def _found(job_id: JobId, home: OpenHome) -> SweepDetail:
    return SweepRepository(home.database).get(job_id)


Found = Annotated[SweepDetail, Depends(_found)]


@router.post(
    "",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 501),
    response_model_exclude_none=True,
)
def create_job(request: tuning_jobs.NewTuningJob, home: OpenHome) -> tuning_jobs.TuningJobDetail:
    """Validate and store a sweep; it waits until it is started.

    404 if the recipe, dataset or eval set is unknown, 422 if the recipe has no such key or refuses an end of
    its range, 501 if Optuna is not installed.
    """
    return tuning_jobs.job_detail(create(home, request.spec()))


@router.get("", response_model_exclude_none=True)
def list_jobs(home: OpenHome, limit: Limit = 20, offset: Offset = 0) -> tuning_jobs.TuningJobList:
    """A page of sweeps with the total, newest first."""
    page = SweepRepository(home.database).list(limit=limit, offset=offset)
    jobs = tuple(map(tuning_jobs.job_of, page.data))
    return tuning_jobs.TuningJobList(data=jobs, pagination=pagination(limit, offset, len(jobs), page.total))


@router.get("/{job_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_job(sweep: Found) -> tuning_jobs.TuningJobDetail:
    """A sweep with its trials. 404 if unknown."""
    return tuning_jobs.job_detail(sweep)


@router.get("/{job_id}/trials", responses=error_responses(404), response_model_exclude_none=True)
def list_trials(sweep: Found) -> tuning_jobs.TrialList:
    """The trials in the order of their start. 404 if unknown."""
    return tuning_jobs.TrialList(data=tuning_jobs.trials_of(sweep))


@router.post("/{job_id}/start", responses=error_responses(404, 409, 501))
def start_job(job_id: JobId, home: OpenHome) -> tuning_jobs.JobStatus:
    """Start a sweep. 404 if unknown, 409 if it has started, 501 if Optuna is not installed."""
    return tuning_jobs.job_status(service.start(home, job_id))


@router.post("/{job_id}/cancel", responses=error_responses(404, 409))
def cancel_job(job_id: JobId, home: OpenHome) -> tuning_jobs.JobStatus:
    """Cancel a sweep and its trials. 404 if unknown, 409 if it has ended."""
    return tuning_jobs.job_status(service.cancel(home, job_id))


@router.post("/{job_id}/resume", responses=error_responses(404, 409, 501))
def resume_job(job_id: JobId, home: OpenHome) -> tuning_jobs.JobStatus:
    """Resume a cancelled or failed sweep from the last checkpoints. 404 if unknown, 409 if it is running."""
    return tuning_jobs.job_status(service.resume(home, job_id))


@router.get("/{job_id}/importances", responses=error_responses(404, 501))
def get_importances(job_id: JobId, home: OpenHome) -> Importances:
    """The importance of each searched key. 404 if unknown, 501 if Optuna is not installed."""
    return importances(home, job_id)


@router.get("/{job_id}/best", responses=error_responses(404, 409))
def get_best(sweep: Found) -> tuning_jobs.BestRecipe:
    """The recipe of the best trial. 404 if unknown, 409 if no trial has succeeded."""
    return tuning_jobs.best_of(sweep)


@router.post(
    "/{job_id}/promote-best",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409),
    response_model_exclude_none=True,
)
def promote(sweep: Found, request: tuning_jobs.PromoteRequest, home: OpenHome) -> ModelVersion:
    """Register the model of the best trial. 404 if unknown, 409 if no trial has succeeded."""
    return promote_best(home, sweep, request.model, alias=request.alias, notes=request.notes)


@router.delete("/{job_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409))
def delete_job(job_id: JobId, home: OpenHome) -> None:
    """Remove a sweep; its runs stay. 404 if unknown, 409 while it is running."""
    SweepRepository(home.database).remove(job_id)
