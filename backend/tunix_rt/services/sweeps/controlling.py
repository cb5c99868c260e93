"""Start, cancel, resume and remove sweeps."""

from datetime import UTC, datetime

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.core.sweeps.states import require_sweep_transition
from tunix_rt.core.sweeps.sweep import SweepDetail, Trial
from tunix_rt.db.sweeps import SweepRepository
from tunix_rt.runs.service import resume as resume_run
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.services.sweeps.advancing import advance
from tunix_rt.services.sweeps.extra import has_optuna, require_optuna


def start(home: Home, sweep_id: str) -> SweepDetail:
    """Let a new sweep begin: the next worker that looks takes care of it.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It has begun already.
    """
    require_optuna()
    require_sweep_transition(sweep_id, SweepRepository(home.database).get(sweep_id).status, "running")
    SweepRepository(home.database).move(sweep_id, "running", _now())
    return SweepRepository(home.database).get(sweep_id)


def cancel(home: Home, sweep_id: str) -> SweepDetail:
    """Stop a sweep and its trials. Those that run are told to stop and may take a moment.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It has ended.
    """
    status = SweepRepository(home.database).get(sweep_id).status
    if status == "queued":
        SweepRepository(home.database).move(sweep_id, "cancelled", _now())
    elif status != "cancelling":
        SweepRepository(home.database).move(sweep_id, "cancelling", _now())
    if status != "queued" and has_optuna():
        advance(home, sweep_id)  # Now, and not when a worker looks: perhaps there is none.
    return SweepRepository(home.database).get(sweep_id)


def resume(home: Home, sweep_id: str) -> SweepDetail:
    """Go on with a cancelled or failed sweep; its cancelled trials go on from their last checkpoints.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It goes on already, or has come to its end.
    """
    require_optuna()
    sweep = SweepRepository(home.database).get(sweep_id)
    require_sweep_transition(sweep_id, sweep.status, "running")
    again = [trial for trial in sweep.trials if trial.status == "cancelled"]
    # Runs first: a trial whose run is still cancelled would be taken for one that was just stopped.
    for trial in again:
        _resume_run(home, trial)
    afresh = {"status": "queued", "error": None, "finished_at": None}
    SweepRepository(home.database).move(
        sweep_id, "running", _now(), trials=[trial.model_copy(update=afresh) for trial in again]
    )
    return SweepRepository(home.database).get(sweep_id)


def remove(home: Home, sweep_id: str) -> None:
    """Forget a sweep and what its sampler knows; its runs stay.

    Raises:
        NotFoundError: There is no such sweep.
        ConflictError: It goes on.
    """
    SweepRepository(home.database).remove(sweep_id)


def _resume_run(home: Home, trial: Trial) -> None:
    try:
        if RunRepository(home.database).status_of(trial.run_id).status == "cancelled":
            resume_run(home, trial.run_id)
    except NotFoundError:
        pass  # It was removed, or never submitted: it will be.


def _now() -> datetime:
    return datetime.now(UTC)
