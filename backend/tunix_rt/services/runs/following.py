"""One look at a run after the other: where it stands and how far its files have grown.

Whoever shows a run to many viewers looks once for all of them; they read the files at their own pace.
"""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from tunix_rt.base.errors import NotFoundError, StorageError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.core.runs.run import ServiceEvent
from tunix_rt.core.runs.states import TERMINAL
from tunix_rt.core.runs.store_types import RunStanding
from tunix_rt.db.runs import RunRepository
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.files.growing_files import GrowingFile
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.services.runs.outside import unmanaged_runs

LOOK_EVERY_S = 0.5

logger = logging.getLogger(__name__)


class RunWatch:
    """A run that somebody follows. `look` asks the database and the disk; everything else only remembers."""

    def __init__(self, home: Home, run_id: str) -> None:
        """Take a first look.

        Raises:
            NotFoundError: There is no such run.
        """
        self.run_id = run_id
        self.lock = threading.Lock()
        """Held while the files are looked at and while a viewer reads them: neither sees half a change."""
        self._home = home
        self._run_dir = RunDir(home.settings.runs_dir / run_id)
        self.service_events: list[ServiceEvent] = []
        self.events = GrowingFile(self._run_dir.events)
        self.metrics = GrowingFile(self._run_dir.metrics)
        self.log = GrowingFile(log_file(home.settings, run_id))
        self.status: RunStatus = "queued"
        self.is_over = False
        """Whether the run has ended. The files were looked at afterwards: they will not grow."""
        self._take(*self._ask())

    def look(self) -> bool:
        """See what is new; whether anything is. A database that does not answer is asked again next time."""
        try:
            status, new_events = self._ask()
        except NotFoundError:  # removed meanwhile: what was sent of it is all there is
            return self._take(self.status, (), is_gone=True)
        except StorageError as error:
            logger.warning("The run %s is followed without the database: %s", self.run_id, error.detail)
            with self.lock:
                return self._look_at_files()
        return self._take(status, new_events)

    def close(self) -> None:
        """Let go of the files."""
        with self.lock:
            for file in (self.events, self.metrics, self.log):
                file.close()

    def _ask(self) -> tuple[RunStatus, Sequence[ServiceEvent]]:
        status, num_events = find_standing(self._home, self.run_id)
        if num_events <= len(self.service_events):
            return status, ()
        return status, RunRepository(self._home.database).events(
            self.run_id, after=len(self.service_events) - 1
        )

    def _take(self, status: RunStatus, new_events: Sequence[ServiceEvent], *, is_gone: bool = False) -> bool:
        is_over = is_gone or status in TERMINAL
        with self.lock:
            has_changed = bool(new_events) or (status, is_over) != (self.status, self.is_over)
            self.service_events.extend(new_events)
            self.status, self.is_over = status, is_over
            # After the status: what the files hold of a run that has ended is all that they will ever hold.
            return self._look_at_files() or has_changed

    def _look_at_files(self) -> bool:
        # All of them: any() would stop at the first that has grown.
        return any([file.look() for file in (self.events, self.metrics, self.log)])


def find_standing(home: Home, run_id: str) -> RunStanding:
    """Where a run stands, whoever started it; or NotFoundError."""
    unmanaged_runs(home).refresh()
    return RunRepository(home.database).status_of(run_id)


def log_file(settings: Settings, run_id: str) -> Path:
    """What the processes of a run print into; a run outside the queue keeps its own log."""
    job = JobDir(settings.jobs_dir / run_id)
    return job.output if job.path.is_dir() else RunDir(settings.runs_dir / run_id).log
