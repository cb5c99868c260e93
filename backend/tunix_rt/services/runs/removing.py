"""A run is removed: its row, then its directories."""

import secrets
import shutil
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors, sync_directory
from tunix_rt.base.files.locks import held_directory
from tunix_rt.base.home import Home
from tunix_rt.db.runs import RunRepository
from tunix_rt.services.runs.outside import unmanaged_runs

_LEAVING_PREFIX = ".removing-"


def remove(home: Home, run_id: str) -> None:
    """Forget a run and delete what it wrote; evaluations of it stay.

    Killed in between, the run is either still in the list, and can be removed again, or its directories have
    left the list already, and the next removal deletes what is left of them.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It is running, or something needs it: which, and how to let go of it.
    """
    unmanaged_runs(home).refresh()
    settings = home.settings
    run_path, job_path = settings.runs_dir / run_id, settings.jobs_dir / run_id
    RunRepository(home.database).require_removable(run_id)  # and only the id of a run becomes a path
    if run_path.is_dir():
        with held_directory(run_path, "run"):  # an evaluation may be joining it, a process may write it
            RunRepository(home.database).remove(run_id)
            _set_aside(run_path)
    else:
        RunRepository(home.database).remove(run_id)
    _set_aside(job_path)
    if settings.checkpoint_url is not None:
        _remove_mirror(settings.checkpoint_url, run_id)
    for directory in (settings.runs_dir, settings.jobs_dir):
        _delete_leaving(directory)


def _set_aside(path: Path) -> None:
    """One rename takes it out of the list, however much there is to delete."""
    if path.is_dir():
        with storage_errors(f"removing {path.name}"):
            path.rename(path.with_name(f"{_LEAVING_PREFIX}{secrets.token_hex(4)}"))
            sync_directory(path.parent)


def _delete_leaving(directory: Path) -> None:
    for path in directory.glob(f"{_LEAVING_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _remove_mirror(url: str, run_id: str) -> None:
    # Imported here: only runs on a cluster have a mirror, and it needs their extra.
    from tunix_rt.files.checkpoint_mirror import CheckpointMirror

    CheckpointMirror(url, run_id).remove()
