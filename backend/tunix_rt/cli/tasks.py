"""`tunix-rt tasks …`: evaluations and exports that workers carry out, asked for over HTTP."""

from typing import Annotated
from uuid import UUID

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import print_json, print_table, say
from tunix_rt.core.tasks.request import EvaluateModel, TaskKind
from tunix_rt.core.tasks.task import Task, TaskFilter
from tunix_rt.db.tasks import TaskRepository
from tunix_rt.services.tasks import looking

TaskId = Annotated[UUID, typer.Argument(metavar="TASK", help="Id of the task.")]


def list_(
    kind: Annotated[TaskKind | None, typer.Option(help="Only these.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Of this model: NAME:VERSION, or the id of a run.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List tasks, newest first."""
    with opened_home() as home:
        page = looking.list_tasks(home, TaskFilter(kind=kind, model=model), limit=limit, offset=0)
    if as_json:
        print_json({"data": [task.to_json() for task in page.data], "total": page.pagination.total})
        return
    rows = [(task.task_id, task.status, task.model, _asked(task), _outcome(task)) for task in page.data]
    print_table(("id", "status", "model", "asked", "outcome"), rows)


def show(task: TaskId, as_json: JsonFlag = False) -> None:
    """Show a task and the end of what it printed."""
    with opened_home() as home:
        found, output = looking.get_task(home, task), looking.output_of(home, task)
    if as_json:
        print_json(found.to_json())
        return
    say(f"{found.task_id}  {found.status}  {found.model}: {_asked(found)}. {_outcome(found)}".rstrip())
    say(output.rstrip())


def cancel(task: TaskId, as_json: JsonFlag = False) -> None:
    """Stop a task. An evaluation keeps its answers: asked for again, it goes on where it stopped."""
    with opened_home() as home:
        found = TaskRepository(home.database).cancel(task)
    print_json(found.to_json()) if as_json else say(f"{found.task_id}  {found.status}")


def remove(task: TaskId, as_json: JsonFlag = False) -> None:
    """Forget a task and the files that it exported; an evaluation stays."""
    with opened_home() as home:
        looking.remove_task(home, task)
    print_json({"removed": str(task)}) if as_json else say(f"removed {task}")


def _asked(task: Task) -> str:
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
        return "the same model" if task.result.export.passed else "not the same model"
    return f"evaluation {task.result.evaluation_id}"
