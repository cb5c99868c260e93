"""/api/tunix/runs, artifacts, queue, workers."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, BinaryIO

from fastapi import APIRouter, Depends, Path, Query, Request, Response, status
from pydantic import BaseModel, ConfigDict

from tunix_rt.base.http.errors import ErrorBody, error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome, ThreadedRoute, Word
from tunix_rt.base.http.transfers import chunked_response, file_response
from tunix_rt.engines.training.types import RUN_ID_PATTERN, MetricsLine, RunStatus, ValidationLine
from tunix_rt.runs import artifacts, service
from tunix_rt.runs.service import (
    QueueState,
    RunEventList,
    RunList,
    RunTimes,
    SparklineList,
    WorkerList,
)
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.submit import submit
from tunix_rt.runs.types import Priority, RunDetail, RunFilter, RunRequest
from tunix_rt.runs.types import RunId as RunIdText
from tunix_rt.runs.unmanaged import refreshed_runs

router = APIRouter(
    prefix="/api/tunix/runs/{run_id}",
    tags=["run files"],
    responses=error_responses(404),
    route_class=ThreadedRoute,
)

RunId = Annotated[str, Path(pattern=RUN_ID_PATTERN)]
ArtifactPath = Annotated[str, Path(max_length=1024)]
_BINARY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


def _opened(run_id: RunId, path: ArtifactPath, home: OpenHome) -> Iterator[BinaryIO]:
    with artifacts.open_artifact(home, run_id, path) as file:
        yield file


@router.get("/metrics", response_model=list[MetricsLine | ValidationLine])
def get_metrics(run_id: RunId, home: OpenHome) -> Response:
    """Every line of metrics so far, in order. 404 if unknown."""
    return chunked_response(artifacts.metrics_array(home, run_id), "application/json")


@router.get("/artifacts", response_model_exclude_none=True)
def list_artifacts(run_id: RunId, home: OpenHome) -> artifacts.ArtifactList:
    """The files of a run, in all of its folders, with the hashes from its manifest. 404 if unknown."""
    return artifacts.list_artifacts(home, run_id)


@router.head("/artifacts/{path:path}/download", include_in_schema=False)
@router.get(
    "/artifacts/{path:path}/download",
    responses={200: _BINARY, 206: _BINARY, 416: {"model": ErrorBody}},
    response_class=Response,
)
def download_artifact(
    path: ArtifactPath, file: Annotated[BinaryIO, Depends(_opened)], request: Request
) -> Response:
    """A file of a run, or a range of it. 404 if unknown, 416 if the range is beyond its end."""
    return file_response(request, file, PurePosixPath(path).name)


runs_router = APIRouter(
    prefix="/api/tunix", tags=["runs"], responses=error_responses(), route_class=CheckedRoute
)


class NewPriority(BaseModel):
    """A new priority for a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    priority: Priority


async def run_filter(
    status: Annotated[list[RunStatus] | None, Query(description="any of these; repeatable")] = None,
    dataset: Word = None,
    mode: Annotated[Word, Query(description="full, lora or qlora")] = None,
    engine: Annotated[Word, Query(description="jax or torch")] = None,
    model: Annotated[Word, Query(description="part of the name of the model")] = None,
    sweep_id: Word = None,
    text: Annotated[Word, Query(description="part of the id, the recipe, the model or the dataset")] = None,
) -> RunFilter:
    """The filter of the query string."""
    return RunFilter(
        status=tuple(status or ()),
        dataset=dataset,
        mode=mode,
        engine=engine,
        model=model,
        sweep_id=sweep_id,
        text=text,
    )


ChosenRuns = Annotated[RunFilter, Depends(run_filter)]


@runs_router.post(
    "/runs",
    status_code=status.HTTP_201_CREATED,
    responses=error_responses(400, 404, 409, 501),
    response_model_exclude_none=True,
)
def submit_run(request: RunRequest, home: OpenHome) -> RunDetail:
    """Check and plan a recipe, and put it into the queue.

    404 if the recipe, the dataset or the eval set is unknown, 409 with the plan's advice if it does not fit
    the hardware and is not forced, 501 if its engine is not installed.
    """
    return submit(home, request)


@runs_router.get("/runs", response_model_exclude_none=True)
def list_runs(home: OpenHome, criteria: ChosenRuns, limit: Limit = 20, offset: Offset = 0) -> RunList:
    """A page of runs with the total, newest first."""
    return service.list_runs(home, criteria, limit=limit, offset=offset)


@runs_router.get("/runs/{run_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_run(run_id: RunId, home: OpenHome) -> RunDetail:
    """A run with its recipe and its plan. 404 if unknown."""
    return service.get_run(home, run_id)


@runs_router.get("/runs/{run_id}/status", responses=error_responses(404), response_model_exclude_none=True)
def get_status(run_id: RunId, home: OpenHome) -> RunTimes:
    """The status of a run, with its times. 404 if unknown."""
    return service.get_times(home, run_id)


@runs_router.get("/runs/{run_id}/events", responses=error_responses(404))
def list_events(
    run_id: RunId,
    home: OpenHome,
    after: Annotated[
        int, Query(ge=-1, le=2**31 - 1, description="only events after this sequence number")
    ] = -1,
) -> RunEventList:
    """The queue and worker events of a run, in order. 404 if unknown."""
    return RunEventList(data=refreshed_runs(home).events(run_id, after=after))


@runs_router.post(
    "/runs/{run_id}/cancel", responses=error_responses(404, 409), response_model_exclude_none=True
)
def cancel_run(run_id: RunId, home: OpenHome) -> RunDetail:
    """Cancel a queued run at once, or ask a running one to stop. 404 if unknown, 409 if it has ended."""
    return refreshed_runs(home).cancel(run_id)


@runs_router.post(
    "/runs/{run_id}/pause", responses=error_responses(404, 409), response_model_exclude_none=True
)
def pause_run(run_id: RunId, home: OpenHome) -> RunDetail:
    """Hold a run until it is resumed; a running one stops with a checkpoint.

    404 if unknown, 409 if it has ended.
    """
    return refreshed_runs(home).pause(run_id)


@runs_router.post(
    "/runs/{run_id}/resume", responses=error_responses(404, 409), response_model_exclude_none=True
)
def resume_run(run_id: RunId, home: OpenHome) -> RunDetail:
    """Resume a paused, cancelled or failed run from its last checkpoint.

    404 if unknown, 409 if it has succeeded.
    """
    return service.resume(home, run_id)


@runs_router.post(
    "/runs/{run_id}/priority", responses=error_responses(400, 404, 409), response_model_exclude_none=True
)
def set_priority(run_id: RunId, body: NewPriority, home: OpenHome) -> RunDetail:
    """Change the priority of a run. 404 if unknown, 409 if it has ended."""
    return refreshed_runs(home).set_priority(run_id, body.priority)


@runs_router.delete(
    "/runs/{run_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409)
)
def remove_run(run_id: RunId, home: OpenHome) -> None:
    """Remove a run and its files. 404 if unknown, 409 while it is running or needed."""
    service.remove(home, run_id)


@runs_router.get("/sparklines")
def list_sparklines(
    home: OpenHome,
    run_id: Annotated[list[RunIdText], Query(min_length=1, max_length=100, description="repeatable")],
) -> SparklineList:
    """A few points of the loss curve of each run; runs without any are left out."""
    return service.sparklines(home, run_id)


@runs_router.get("/queue")
def get_queue(home: OpenHome) -> QueueState:
    """The state of the queue: runs by status, and the workers."""
    return service.queue_state(home)


@runs_router.post("/queue/pause")
def pause_queue(home: OpenHome) -> QueueState:
    """Stop workers from taking runs; running ones continue."""
    return service.set_queue_paused(home, True)


@runs_router.post("/queue/resume")
def resume_queue(home: OpenHome) -> QueueState:
    """Let workers take runs again."""
    return service.set_queue_paused(home, False)


@runs_router.get("/workers")
def list_workers(home: OpenHome) -> WorkerList:
    """Every known worker, newest first."""
    return WorkerList(data=WorkerRepository(home.database).list())
