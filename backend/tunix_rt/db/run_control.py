"""What people do with runs: cancel, pause, resume, put first, remove."""

from typing import Any

from sqlalchemy import Row, delete, select

from tunix_rt.base.db.schema import baselines, evaluations, model_versions, models, runs, sweeps
from tunix_rt.base.errors import ConflictError
from tunix_rt.core.runs.states import ACTIVE, TERMINAL
from tunix_rt.db.run_transitions import Change, Note

_AFRESH: dict[str, Any] = {
    "is_held": False,
    "not_before": None,
    "num_failures": 0,
    "finished_at": None,
    "exit_code": None,
    "failure": None,
}


def cancel(change: Change, run_id: str) -> None:
    """A queued run is cancelled at once; a running one is asked to stop; asking twice changes nothing."""
    row = change.locked(run_id)
    if row.status == "cancelling":
        return
    _refuse_outside(row, "cancelled")
    if row.status == "queued":
        change.move(row, "cancelled", Note("cancelled", "Cancelled before it began."))
    elif row.status in TERMINAL:
        raise ConflictError(
            f"The run {run_id} has ended: it {_ENDED[row.status]}.", next_step="There is nothing to cancel."
        )
    else:
        change.move(row, "cancelling", Note("cancel-asked", "Asked to stop."))


def pause(change: Change, run_id: str) -> None:
    """A queued run waits until it is resumed; a running one is stopped with a checkpoint first."""
    row = change.locked(run_id)
    _refuse_outside(row, "paused")
    if row.status not in ("queued", "running"):
        raise ConflictError(
            f"The run {run_id} is {row.status}; only a queued or running one can be paused.",
            next_step=f"Look at it: tunix-rt runs show {run_id}",
        )
    if not row.is_held:
        message = "Paused." if row.status == "queued" else "Asked to stop with a checkpoint, and to wait."
        change.write(row, Note("paused", message), is_held=True)


def resume(change: Change, run_id: str) -> None:
    """A paused run goes on; a cancelled or failed one enters the queue again, from its last checkpoint."""
    row = change.locked(run_id)
    if row.status in ("cancelled", "failed"):
        executor = "local" if row.executor == "direct" else row.executor
        note = Note("resumed", f"In the queue again; it was {row.status}.")
        change.move(row, "queued", note, executor=executor, **_AFRESH)
    elif row.status == "succeeded" or row.status == "cancelling":
        raise ConflictError(
            f"The run {run_id} is {row.status}; there is nothing to go on with.",
            next_step="Wait until it is cancelled." if row.status == "cancelling" else "Submit a new run.",
        )
    elif row.is_held or row.not_before is not None:
        change.write(row, Note("resumed", "Resumed."), is_held=False, not_before=None)


def set_priority(change: Change, run_id: str, priority: int) -> None:
    """Higher first; it counts from the next time that a worker asks."""
    row = change.locked(run_id)
    if row.status in TERMINAL:
        raise ConflictError(
            f"The run {run_id} has ended: it {_ENDED[row.status]}.",
            next_step=f"Put it into the queue again first: tunix-rt runs resume {run_id}",
        )
    change.write(row, Note("priority", f"Priority {priority}."), priority=priority)


def require_removable(change: Change, run_id: str) -> int:
    """The key of a run that nobody needs.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It is running, or something needs it: which, and how to let go of it.
    """
    row = change.locked(run_id)
    _refuse_outside(row, "removed")
    if row.status in ACTIVE:
        raise ConflictError(
            f"The run {run_id} is {row.status}.",
            next_step=f"Stop it first: tunix-rt runs cancel {run_id}",
        )
    _refuse_needed(change, row)
    return int(row.pk)


def remove(change: Change, run_id: str) -> None:
    """Forget a run and its events, if nobody needs it."""
    change.connection.execute(delete(runs).where(runs.c.pk == require_removable(change, run_id)))


_ENDED = {"succeeded": "succeeded", "failed": "failed", "cancelled": "was cancelled"}


def _refuse_outside(row: Row[Any], what: str) -> None:
    if row.executor == "direct" and row.status not in TERMINAL:
        raise ConflictError(
            f"The run {row.id} was started by tunix-rt train, outside the queue; it cannot be {what} here.",
            next_step="Stop it where it runs, with Ctrl-C: it saves a checkpoint first.",
        )


def _refuse_needed(change: Change, row: Row[Any]) -> None:
    found = change.connection.execute(
        select(baselines.c.name)
        .join(evaluations, evaluations.c.pk == baselines.c.evaluation_pk)
        .where(evaluations.c.run_id == row.id)
        .order_by(baselines.c.name)
    ).scalar()
    if found is not None:
        raise ConflictError(
            f"The baseline {found!r} is an evaluation of the run {row.id}.",
            next_step=f"Remove the baseline first: tunix-rt baselines rm {found}",
        )
    version = change.connection.execute(
        select(models.c.name, model_versions.c.version)
        .join(model_versions, model_versions.c.model_pk == models.c.pk)
        .where(model_versions.c.source_run_id == row.id)
        .order_by(model_versions.c.pk)
    ).first()
    if version is not None:
        name = f"{version.name}:{version.version}"
        raise ConflictError(
            f"The registered model {name} comes from the run {row.id}.",
            next_step=f"Remove that version first: tunix-rt models rm {name}",
        )
    _refuse_trial(change, row)


def _refuse_trial(change: Change, row: Row[Any]) -> None:
    is_on = sweeps.c.status.in_(("queued", *sorted(ACTIVE)))
    sweep = change.connection.execute(select(sweeps.c.id).where(sweeps.c.id == row.sweep_id, is_on)).scalar()
    if sweep is not None:
        raise ConflictError(
            f"The run {row.id} is a trial of the sweep {sweep}, which goes on.",
            next_step=f"Stop the sweep first: tunix-rt tune cancel {sweep}",
        )
