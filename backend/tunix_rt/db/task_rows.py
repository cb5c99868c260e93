"""From a row of the tasks to a task, and back."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row

from tunix_rt.core.tasks.request import TaskRequest
from tunix_rt.core.tasks.task import Task, TaskResult
from tunix_rt.engines.training.types import RunFailure


def queued_task_row(task_id: UUID, model: str, request: TaskRequest, now: datetime) -> dict[str, Any]:
    """The row of a task that nobody has taken yet."""
    return {
        "id": task_id,
        "created_at": now,
        "kind": request.kind,
        "model": model,
        "device": request.device,
        "status": "queued",
        "request": request.model_dump_json(exclude_none=True),
        "num_attempts": 0,
        "num_failures": 0,
        "beats": 0,
    }


def task_of(row: Row[Any]) -> Task:
    """The task of a row."""
    return Task.model_validate(
        {
            "task_id": row.id,
            "status": row.status,
            "created_at": row.created_at,
            "model": row.model,
            "request": json.loads(row.request),
            "num_attempts": row.num_attempts,
            "num_failures": row.num_failures,
            "not_before": row.not_before,
            "worker_id": row.worker_id,
            "started_at": row.started_at,
            "finished_at": row.finished_at,
            "failure": None if row.failure is None else RunFailure.model_validate_json(row.failure),
            "result": None if row.result is None else TaskResult.model_validate_json(row.result),
        }
    )
