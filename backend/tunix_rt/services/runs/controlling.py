"""What people do with runs: cancel, pause, resume, put first; and with the whole queue."""

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.home import Home
from tunix_rt.core.runs.run import RunDetail
from tunix_rt.db.flags import FlagRepository
from tunix_rt.db.runs import RunRepository
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.services.runs.listing import QueueState, get_run, queue_state
from tunix_rt.services.runs.outside import unmanaged_runs
from tunix_rt.services.runs.submitting import write_recipe


def cancel(home: Home, run_id: str) -> RunDetail:
    """Cancel a queued run at once, or ask a running one to stop.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has ended, or does not run in the queue.
    """
    unmanaged_runs(home).refresh()
    return RunRepository(home.database).cancel(run_id)


def pause(home: Home, run_id: str) -> RunDetail:
    """Make a run wait until it is resumed; a running one stops with a checkpoint.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has ended, or does not run in the queue.
    """
    unmanaged_runs(home).refresh()
    return RunRepository(home.database).pause(run_id)


def resume(home: Home, run_id: str) -> RunDetail:
    """Let a paused run go on, or put a cancelled or failed one into the queue, from its last checkpoint.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has succeeded, or cannot go on in the queue.
    """
    run = get_run(home, run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    if not job_dir.recipe.is_file():
        _require_dataset(run)
        write_recipe(job_dir, run.recipe)
    return RunRepository(home.database).resume(run_id)


def set_priority(home: Home, run_id: str, priority: int) -> RunDetail:
    """Higher first; it counts from the next time that a worker asks."""
    unmanaged_runs(home).refresh()
    return RunRepository(home.database).set_priority(run_id, priority)


def pause_queue(home: Home) -> QueueState:
    """Let workers take nothing more; what runs goes on."""
    FlagRepository(home.database).set_queue_paused(True)
    return queue_state(home)


def resume_queue(home: Home) -> QueueState:
    """Let workers take runs again."""
    FlagRepository(home.database).set_queue_paused(False)
    return queue_state(home)


def _require_dataset(run: RunDetail) -> None:
    data = run.recipe.get("data")
    if not isinstance(data, dict) or data.get("dataset") is None:
        raise ConflictError(
            f"The run {run.run_id} was trained on the file {run.dataset}, which the queue does not have.",
            next_step="Go on with the command that began it, with --resume and the same --output.",
        )
