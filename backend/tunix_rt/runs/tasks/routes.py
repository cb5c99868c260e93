"""/api/tasks."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response, status
from fastapi.responses import PlainTextResponse, StreamingResponse

from tunix_rt.base.http.errors import error_responses
from tunix_rt.base.http.routing import CheckedRoute, Limit, Offset, OpenHome
from tunix_rt.base.http.transfers import text_answer
from tunix_rt.base.records import StorableText
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.tasks import service
from tunix_rt.runs.tasks.service import submit_task
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import Task, TaskFilter, TaskKind, TaskRequest

router = APIRouter(prefix="/api/tasks", tags=["tasks"], responses=error_responses(), route_class=CheckedRoute)


@router.post(
    "",
    status_code=status.HTTP_202_ACCEPTED,
    responses=error_responses(400, 404, 501),
    response_model_exclude_none=True,
)
def post_task(request: TaskRequest, home: OpenHome) -> Task:
    """Put an evaluation or an export into the queue.

    404 if the model or the eval set is unknown, 422 if the model cannot be exported in that form, 501 if the
    extra of a checker is not installed.
    """
    return submit_task(home, request)


@router.get("", response_model_exclude_none=True)
def get_tasks(
    home: OpenHome,
    kind: TaskKind | None = None,
    model: Annotated[
        StorableText | None, Query(max_length=256, description="`name:version`, or the id of a run")
    ] = None,
    status: Annotated[list[RunStatus] | None, Query(description="any of these")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> service.TaskList:
    """A page of tasks, newest first, with the total."""
    criteria = TaskFilter(kind=kind, model=model, status=tuple(status or ()))
    return service.list_tasks(home, criteria, limit=limit, offset=offset)


@router.get("/{task_id}", responses=error_responses(404), response_model_exclude_none=True)
def get_task(task_id: UUID, home: OpenHome) -> Task:
    """A task: request, progress and result. 404 if unknown."""
    return service.get_task(home, task_id)


@router.post("/{task_id}/cancel", responses=error_responses(404, 409), response_model_exclude_none=True)
def cancel_task(task_id: UUID, home: OpenHome) -> Task:
    """Cancel a task. An evaluation keeps its answers for the next request. 404 if unknown, 409 if ended."""
    return TaskRepository(home.database).cancel(task_id)


@router.get(
    "/{task_id}/output", response_class=Response, responses=error_responses(404) | text_answer("text/plain")
)
def get_output(task_id: UUID, home: OpenHome) -> PlainTextResponse:
    """The end of its output. 404 if unknown."""
    return PlainTextResponse(service.output_of(home, task_id))


@router.get(
    "/{task_id}/download",
    responses=error_responses(404, 409) | {200: {"content": {"application/zip": {}}}},
    response_class=StreamingResponse,
)
def download_export(task_id: UUID, home: OpenHome) -> StreamingResponse:
    """The exported files with their report, as a zip. 404 if unknown, 409 if there is no export."""
    report, chunks = service.exported(home, task_id)
    name = f"{report.version.replace(':', '-')}-{report.form}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks, media_type="application/zip", headers=headers)


@router.delete("/{task_id}", status_code=status.HTTP_204_NO_CONTENT, responses=error_responses(404, 409))
def delete_task(task_id: UUID, home: OpenHome) -> None:
    """Remove a task and its exported files; an evaluation stays. 404 if unknown, 409 until it has ended."""
    service.remove_task(home, task_id)
