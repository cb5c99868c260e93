"""Sweeps and trials as rows of their tables, both ways."""

import json
from typing import Any

from sqlalchemy import Row

from tunix_rt.core.sweeps.sweep import Sweep, Trial


def sweep_row(sweep: Sweep) -> dict[str, Any]:
    """The row of a sweep. What was asked for and what it resolved to are one text: neither ever changes."""
    asked = {"spec": sweep.spec.model_dump(mode="json", exclude_unset=True), "recipe": sweep.recipe}
    return {
        "id": sweep.sweep_id,
        "name": sweep.name,
        "status": sweep.status,
        "spec": json.dumps(asked),
        "created_at": sweep.created_at,
    }


def sweep_of(row: Row[Any]) -> dict[str, Any]:
    """The values of a sweep, from its row and the number of its trials."""
    names = ("name", "status", "created_at", "started_at", "finished_at", "best_run_id", "worker_id")
    return {
        "sweep_id": row.id,
        **{name: getattr(row, name) for name in names},
        **json.loads(row.spec),
        "failure": None if row.failure is None else json.loads(row.failure),
        "num_trials": row.num_trials,
    }


def trial_row(trial: Trial) -> dict[str, Any]:
    """The row of a trial, without its sweep."""
    return trial.model_dump(exclude={"params"}) | {"params": json.dumps(trial.params)}


def trial_of(row: Row[Any]) -> Trial:
    """The trial in a row."""
    values = dict(row._mapping) | {"params": json.loads(row.params)}
    del values["sweep_pk"]
    return Trial.model_validate(values)
