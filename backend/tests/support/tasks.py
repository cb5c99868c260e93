"""Builders of queued and claimed tasks."""

from uuid import uuid4

from support.queued_runs import ANY_SLOT
from tunix_rt.base.home import Home
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import EvaluateModel, ExportModel, Task, TaskClaim

EVALUATE = EvaluateModel(kind="evaluation", model="sums", eval_set="eval_v2")
EXPORT = ExportModel(kind="export", model="sums", form="zip")


def queued_task(store: Home, request: EvaluateModel | ExportModel = EVALUATE, model: str = "sums:1") -> Task:
    """Add a task to the queue."""
    return TaskRepository(store.database).add(uuid4(), model, request)


def claimed_task(store: Home, request: EvaluateModel | ExportModel = EVALUATE) -> TaskClaim:
    """Add a task to the queue and claim it."""
    task = queued_task(store, request)
    claim = TaskRepository(store.database).claim("worker-a", ANY_SLOT)
    assert claim is not None
    assert claim.task.task_id == task.task_id
    return claim
