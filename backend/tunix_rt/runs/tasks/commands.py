"""tunix-rt tasks, and the command that a worker runs for a task."""

import time
from typing import Annotated, get_args
from uuid import UUID

import typer

from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json, print_table, say
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.types import DeviceName, DeviceRequest, EngineName
from tunix_rt.evaluation.evaluate import EvaluationRequest, evaluate
from tunix_rt.evaluation.predict import EvaluationProgress
from tunix_rt.models.commands import run_export
from tunix_rt.models.export import ExportRequest
from tunix_rt.models.find import find_model, resolve
from tunix_rt.runs.tasks import service
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.service import task_dir
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import (
    EvaluateModel,
    ExportModel,
    Task,
    TaskFilter,
    TaskKind,
    TaskProgress,
    TaskResult,
)
from tunix_rt.serving.names import find_served

TaskId = Annotated[UUID, typer.Argument(metavar="TASK", help="Id of the task.")]


def list_(
    kind: Annotated[TaskKind | None, typer.Option(help="Only tasks of this kind.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Only tasks of this model: NAME:VERSION, or the id of a run.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of tasks.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List tasks, newest first."""
    with opened_home() as home:
        page = service.list_tasks(home, TaskFilter(kind=kind, model=model), limit=limit, offset=0)
    if as_json:
        print_json({"data": [task.to_json() for task in page.data], "total": page.pagination.total})
        return
    rows = [
        (task.task_id, task.status, task.model, _request_text(task), _outcome(task)) for task in page.data
    ]
    print_table(("id", "status", "model", "request", "outcome"), rows)


def show(task: TaskId, as_json: JsonFlag = False) -> None:
    """Show a task and the end of its output."""
    with opened_home() as home:
        found, output = service.get_task(home, task), service.output_of(home, task)
    if as_json:
        print_json(found.to_json())
        return
    say(f"{found.task_id}  {found.status}  {found.model}: {_request_text(found)}. {_outcome(found)}".rstrip())
    say(output.rstrip())


def cancel(task: TaskId, as_json: JsonFlag = False) -> None:
    """Cancel a task. An evaluation keeps its answers: requested again, it resumes."""
    with opened_home() as home:
        found = TaskRepository(home.database).cancel(task)
    print_json(found.to_json()) if as_json else say(f"{found.task_id}  {found.status}")


def remove(task: TaskId, as_json: JsonFlag = False) -> None:
    """Remove a task and its exported files; an evaluation stays."""
    with opened_home() as home:
        service.remove_task(home, task)
    print_json({"removed": str(task)}) if as_json else say(f"removed {task}")


def _request_text(task: Task) -> str:
    request = task.request
    if isinstance(request, EvaluateModel):
        return f"evaluate on {request.eval_set}"
    return f"export as {request.form}"


def _outcome(task: Task) -> str:
    if task.failure is not None:
        return f"{task.failure.detail} Next: {task.failure.next_step}"
    if task.progress is not None:
        return task.progress.stage
    if task.result is None:
        return ""
    if task.result.export is not None:
        return "verified" if task.result.export.passed else "verification failed"
    return f"evaluation {task.result.evaluation_id}"


_WRITE_EVERY_S = 0.5


def carry_out(
    task: Annotated[UUID, typer.Argument(help="Id of the task.")],
    device: Annotated[DeviceName, typer.Option(help="The device to use.")] = "auto",
) -> None:
    """Run a task that a worker has claimed."""
    with opened_home() as home:
        claimed, view = TaskRepository(home.database).get(task), _ProgressFile(task_dir(home, task))
        if isinstance(claimed.request, EvaluateModel):
            result = _evaluate(home, claimed, claimed.request, device, view)
        else:
            result = _export(home, claimed, claimed.request, device, view)
        task_dir(home, task).write_result(result)


class _ProgressFile:
    """Writes the progress of a task into its directory, and messages into its output."""

    def __init__(self, directory: TaskDir) -> None:
        self._directory = directory
        self._last_s = float("-inf")

    def show_line(self, text: str) -> None:
        note(text)
        self._directory.write_progress(TaskProgress(stage=text))

    def show_hashing(self, fraction: float) -> None:
        if self._is_due(is_last=fraction == 1):
            self._directory.write_progress(TaskProgress(stage=f"reading the weights, {fraction:.0%}"))

    def show_progress(self, progress: EvaluationProgress) -> None:
        if not self._is_due(is_last=progress.num_done == progress.num_total):
            return
        note(str(progress))
        self._directory.write_progress(
            TaskProgress(
                stage="generating answers",
                num_done=progress.num_done,
                num_total=progress.num_total,
                tokens_per_s=round(progress.tokens_per_s, 1),
            )
        )

    def _is_due(self, *, is_last: bool) -> bool:
        now_s = time.monotonic()
        is_due = is_last or now_s - self._last_s >= _WRITE_EVERY_S
        self._last_s = now_s if is_due else self._last_s
        return is_due


def _evaluate(
    home: Home, task: Task, request: EvaluateModel, device: DeviceName, view: _ProgressFile
) -> TaskResult:
    view.show_line("loading the model")
    name = find_served(home, task.model).argument
    # An adapter on random weights needs the engine that initialized those weights.
    drawn_by = find_model(home.settings, name).drawn_by
    resumed = next((engine for engine in get_args(EngineName) if engine == drawn_by), None)
    choice = chosen_engine(request.engine, device, resumed=resumed)
    note(str(choice))
    options = EvaluationRequest(
        model=name,
        evalset=request.eval_set,
        decoding=request.decoding,
        is_lenient=request.is_lenient,
        device=DeviceRequest(device),
        limit=request.limit,
        evaluation_id=task.task_id,
    )
    evaluation = evaluate(home, LazyEngine(choice.name), options, view)
    return TaskResult(evaluation_id=evaluation.evaluation_id)


def _export(
    home: Home, task: Task, request: ExportModel, device: DeviceName, view: _ProgressFile
) -> TaskResult:
    directory = task_dir(home, task.task_id)
    output = directory.archive if request.form == "zip" else directory.export
    options = ExportRequest(
        resolve(home, task.model), request.form, output, request.dtype, DeviceRequest(device)
    )
    view.show_line("packing and verifying" if request.form == "zip" else "loading the model")
    return TaskResult(export=run_export(home, options, request.engine, view.show_line))
