"""Submit, list, cancel, fetch results."""

from collections.abc import Iterator
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError, InvalidInputError
from tunix_rt.base.home import Home
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Pagination, pagination
from tunix_rt.datasets.evalsets import named_evalset
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.models.export import require_form
from tunix_rt.models.find import resolve
from tunix_rt.models.types import ExportReport
from tunix_rt.runs.tasks.files import TaskDir, file_pieces
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import EvaluateModel, ExportModel, Task, TaskFilter, TaskRequest
from tunix_rt.runs.types import ACTIVE
from tunix_rt.serving.names import find_served


def submit_task(home: Home, request: TaskRequest) -> Task:
    """Put a task into the queue.

    Raises:
        NotFoundError: There is no such model or eval set.
        InvalidInputError: It cannot be exported like that, or there are fewer items than asked for.
        DataError: The eval set cannot be used.
        MissingExtraError: A checker that it needs is not installed.
    """
    model = _evaluable(home, request) if isinstance(request, EvaluateModel) else _exportable(home, request)
    return TaskRepository(home.database).add(uuid4(), model, request)


def _evaluable(home: Home, request: EvaluateModel) -> str:
    evalset = named_evalset(home.settings, request.eval_set)
    if request.limit is not None and request.limit > len(evalset.items):
        raise InvalidInputError(
            f"{request.eval_set} has {len(evalset.items)} items, fewer than {request.limit}.",
            next_step="Ask for fewer, or leave the limit out.",
        )
    require_checkers(evalset.items)
    return find_served(home, request.model).root


def _exportable(home: Home, request: ExportModel) -> str:
    version = resolve(home, request.model)
    require_form(version, request.form)
    return version.reference


class TaskList(BaseModel):
    """A page of tasks, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Task, ...]
    pagination: Pagination


def task_dir(home: Home, task_id: UUID) -> TaskDir:
    """Where the files of a task lie."""
    return TaskDir(home.settings.tasks_dir / str(task_id))


def get_task(home: Home, task_id: UUID) -> Task:
    """A task and how far it is, or NotFoundError."""
    return _with_progress(home, TaskRepository(home.database).get(task_id))


def list_tasks(home: Home, criteria: TaskFilter, *, limit: int, offset: int) -> TaskList:
    """A page of tasks, newest first, with how far those are that are under way."""
    page = TaskRepository(home.database).list(criteria, limit=limit, offset=offset)
    return TaskList(
        data=tuple(_with_progress(home, task) for task in page.data),
        pagination=pagination(limit, offset, len(page.data), page.total),
    )


def output_of(home: Home, task_id: UUID) -> str:
    """The end of what a task printed, or NotFoundError."""
    TaskRepository(home.database).get(task_id)
    return redacted(task_dir(home, task_id).job_dir.output_tail())


def remove_task(home: Home, task_id: UUID) -> None:
    """Forget a task that has ended, with the files that it exported; an evaluation stays.

    Raises:
        NotFoundError: There is no such task.
        ConflictError: It is queued or under way.
    """
    TaskRepository(home.database).remove(task_id)
    task_dir(home, task_id).remove()


def exported(home: Home, task_id: UUID) -> tuple[ExportReport, Iterator[bytes]]:
    """What an export says of itself, and its files as a zip.

    Raises:
        NotFoundError: There is no such task.
        ConflictError: It has exported nothing.
    """
    task = TaskRepository(home.database).get(task_id)
    report = None if task.result is None else task.result.export
    if report is None:
        raise ConflictError(
            f"The task {task_id} has exported nothing: it is {task.status}.",
            next_step="Download the files of an export that succeeded.",
        )
    files = task_dir(home, task_id)
    return report, file_pieces(files.archive) if report.form == "zip" else files.zip_of_export()


def _with_progress(home: Home, task: Task) -> Task:
    if task.status not in ACTIVE:
        return task
    return task.model_copy(update={"progress": task_dir(home, task.task_id).read_progress()})
