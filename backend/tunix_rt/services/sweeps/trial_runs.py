"""The runs of a sweep's trials: found, submitted, cancelled."""

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.config.sweep_spec import as_override
from tunix_rt.core.sweeps.sweep import Sweep, Trial
from tunix_rt.runs.service import cancel
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.submit import submit
from tunix_rt.runs.types import Run, RunFilter, RunRequest

Runs = dict[str, Run]
_PAGE = 500


def runs_of(home: Home, sweep: Sweep) -> Runs:
    """Every run of a sweep, by its id."""
    found: Runs = {}
    while True:
        page = RunRepository(home.database).list(
            RunFilter(sweep_id=sweep.sweep_id), limit=_PAGE, offset=len(found)
        )
        found |= {run.run_id: run for run in page.data}
        if len(page.data) < _PAGE:
            return found


def request_of(sweep: Sweep, trial: Trial) -> RunRequest:
    """What the queue is asked for."""
    spec = sweep.spec
    return RunRequest(
        recipe=sweep.recipe,
        overrides=tuple(as_override(key, value) for key, value in trial.params.items()),
        name=spec.name,
        engine=spec.engine,
        device=spec.device,
        priority=spec.priority,
        eval_set=spec.eval_set,
        executor=spec.executor,
    )


def submit_trial(home: Home, sweep: Sweep, trial: Trial) -> None:
    """Put a trial's run into the queue, unless it is there.

    Raises:
        TunixRTError: The queue does not take it.
    """
    try:
        # Where models may come from was decided when the sweep was created.
        request = request_of(sweep, trial)
        submit(home, request, sweep_id=sweep.sweep_id, run_id=trial.run_id, allows_paths=True)
    except ConflictError:
        try:
            RunRepository(home.database).status_of(trial.run_id)
        except NotFoundError:
            pass
        else:
            return  # Somebody was quicker.
        raise


def cancel_if_live(home: Home, run: Run) -> None:
    """Cancel a run that waits or runs."""
    if run.status in ("queued", "running"):
        try:
            cancel(home, run.run_id)
        except ConflictError:
            pass  # It has ended meanwhile; the next look sees how.
