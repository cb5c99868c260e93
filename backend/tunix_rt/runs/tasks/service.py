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
from tunix_rt.runs.files import read_record
from tunix_rt.runs.tasks.files import TaskDir, file_chunks
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import EvaluateModel, Task, TaskFilter, TaskProgress, TaskRequest
from tunix_rt.runs.types import ACTIVE
from tunix_rt.serving.names import find_served


def submit_task(home: Home, request: TaskRequest) -> Task:
    """Put a task into the queue.

    Raises:
        NotFoundError: There is no such model or eval set.
        InvalidInputError: It cannot be exported in that form, or the eval set is smaller than `limit`.
        DataError: The eval set cannot be used.
        MissingExtraError: The extra of a checker is not installed.
    """
    if isinstance(request, EvaluateModel):
        evalset = named_evalset(home.settings, request.eval_set)
        if request.limit is not None and request.limit > len(evalset.items):
            raise InvalidInputError(
                f"{request.eval_set} has {len(evalset.items)} items, fewer than {request.limit}.",
                next_step="Lower the limit, or leave it out.",
            )
        require_checkers(evalset.items)
        model = find_served(home, request.model).root
    else:
        version = resolve(home, request.model)
        require_form(version, request.form)
        model = version.reference
    return TaskRepository(home.database).add(uuid4(), model, request)


class TaskList(BaseModel):
    """A page of tasks, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Task, ...]
    pagination: Pagination


def task_dir(home: Home, task_id: UUID) -> TaskDir:
    """The directory of a task."""
    return TaskDir(home.settings.tasks_dir / str(task_id))


def get_task(home: Home, task_id: UUID) -> Task:
    """A task with its progress, or NotFoundError."""
    return _with_progress(home, TaskRepository(home.database).get(task_id))


def list_tasks(home: Home, criteria: TaskFilter, *, limit: int, offset: int) -> TaskList:
    """A page of tasks, newest first, with the progress of running ones."""
    page = TaskRepository(home.database).list(criteria, limit=limit, offset=offset)
    return TaskList(
        data=tuple(_with_progress(home, task) for task in page.data),
        pagination=pagination(limit, offset, len(page.data), page.total),
    )


def output_of(home: Home, task_id: UUID) -> str:
    """The end of the output of a task, or NotFoundError."""
    TaskRepository(home.database).get(task_id)
    return redacted(task_dir(home, task_id).job_dir.output_tail())


def remove_task(home: Home, task_id: UUID) -> None:
    """Remove a task that has ended, with its exported files; an evaluation stays.

    Raises:
        NotFoundError: There is no such task.
        ConflictError: It is queued or running.
    """
    TaskRepository(home.database).remove(task_id)
    task_dir(home, task_id).remove()


def exported(home: Home, task_id: UUID) -> tuple[ExportReport, Iterator[bytes]]:
    """The report of an export, and its files as a zip.

    Raises:
        NotFoundError: There is no such task.
        ConflictError: There is no export.
    """
    task = TaskRepository(home.database).get(task_id)
    report = None if task.result is None else task.result.export
    if report is None:
        raise ConflictError(
            f"The task {task_id} has no export: it is {task.status}.",
            next_step="Download the files of a successful export task.",
        )
    files = task_dir(home, task_id)
    return report, file_chunks(files.archive) if report.form == "zip" else files.zip_of_export()


def _with_progress(home: Home, task: Task) -> Task:
    if task.status not in ACTIVE:
        return task
    progress = read_record(task_dir(home, task.task_id).progress, TaskProgress)
    return task.model_copy(update={"progress": progress})
