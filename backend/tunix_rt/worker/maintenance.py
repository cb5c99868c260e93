"""What every worker does for all: it notices lost workers, and runs the periodic chores it was given."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta

from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.core.runs.backoff import backoff_s
from tunix_rt.core.runs.run import Lease
from tunix_rt.core.runs.store_types import LeaseBeat
from tunix_rt.core.runs.worker import Worker
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.tasks import TaskRepository
from tunix_rt.db.workers import WorkerRepository
from tunix_rt.worker.processes import is_gone

logger = logging.getLogger(__name__)

_FORGOTTEN_AFTER = timedelta(days=7)


class StandstillWatch:
    """Notices what has not changed for a while, on this process's own clock: nobody's clock is compared."""

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._seen: dict[Hashable, tuple[int, float]] = {}

    def stale(self, beats: dict[Hashable, int]) -> set[Hashable]:
        """Those whose beats have stood still for longer than the patience; all the others are forgotten."""
        now_s = self._clock()
        before = self._seen
        self._seen = {
            name: before[name] if name in before and before[name][0] == count else (count, now_s)
            for name, count in beats.items()
        }
        return {name for name, (_, since_s) in self._seen.items() if now_s - since_s > self._patience_s}


class Maintenance:
    """One round after the other, in a thread of its own."""

    def __init__(
        self,
        home: Home,
        worker_id: str,
        own_leases: Callable[[], tuple[tuple[LeaseBeat, ...], frozenset[str]]],
        *,
        chores: Mapping[str, Callable[[], None]] = {},
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = home.settings
        self._home = home
        self._worker_id = worker_id
        self._own_leases = own_leases
        self._chores = chores
        # By then a worker that is cut off from the database has stopped its children.
        patience_s = settings.worker_lease_s + settings.cancel_grace_s + settings.worker_beat_s
        self._lease_watch = StandstillWatch(patience_s, clock)
        self._worker_watch = StandstillWatch(patience_s, clock)

    def run(self, every_s: float, must_end: threading.Event) -> None:
        """Look after everything until told to end."""
        while not must_end.wait(every_s):
            self._tried("looking for lost runs", self.look_around)
            for what, chore in self._chores.items():
                self._tried(what, chore)

    def _tried(self, what: str, chore: Callable[[], None]) -> None:
        try:
            chore()
        except StorageError as error:
            logger.debug("%s waits for the database: %s", what, error)
        except Exception:
            # The only thread that recovers runs must outlive a bug in any one of them, or in a sweep.
            logger.exception("%s did not succeed", what)

    def look_around(self) -> None:
        """Take runs from workers that are gone."""
        workers = {worker.worker_id: worker for worker in WorkerRepository(self._home.database).list()}
        leases, kept = self._own_leases()
        silent = self._lease_watch.stale({lease.token: lease.beats for lease in leases})
        for lease in leases:
            reason = self._why_lost(lease, workers.get(lease.worker_id), lease.token in silent, kept)
            if reason is not None:
                self._take(lease, reason)
        self._note_lost_workers(tuple(workers.values()))

    def _why_lost(
        self, lease: LeaseBeat, holder: Worker | None, is_silent: bool, kept: frozenset[str]
    ) -> str | None:
        if lease.worker_id == self._worker_id:
            # The answer to a claim, or to giving a run back, was lost on its way.
            return None if lease.token in kept else f"{lease.worker_id} does not know that it had it."
        if holder is not None and is_gone(holder.pid, holder.process_start):
            return f"Its worker {lease.worker_id} has died."
        return f"Its worker {lease.worker_id} has not been heard of for too long." if is_silent else None

    def _take(self, lease: LeaseBeat, reason: str) -> None:
        # Whether there was progress in between is seen by whoever takes it next, from the checkpoints.
        num_failures = lease.num_failures + 1
        not_before = datetime.now(UTC) + timedelta(seconds=backoff_s(num_failures))
        # A token is of a run or of a task: the other queue does not know it.
        if RunRepository(self._home.database).lose(
            lease.run_id, lease.token, reason, not_before=not_before, num_failures=num_failures
        ) or TaskRepository(self._home.database).requeue(
            Lease(run_id=lease.run_id, token=lease.token), not_before=not_before, num_failures=num_failures
        ):
            logger.warning("%s goes back into the queue: %s", lease.run_id, reason)

    def _note_lost_workers(self, workers: tuple[Worker, ...]) -> None:
        working = [worker for worker in workers if worker.status in ("active", "draining")]
        silent = self._worker_watch.stale({worker.worker_id: worker.beats for worker in working})
        for worker in working:
            if worker.worker_id in silent or is_gone(worker.pid, worker.process_start):
                WorkerRepository(self._home.database).set_status(worker.worker_id, "lost")
        if any(worker.worker_id == self._worker_id and worker.status == "lost" for worker in workers):
            WorkerRepository(self._home.database).set_status(self._worker_id, "active")
        oldest = datetime.now(UTC) - _FORGOTTEN_AFTER
        for worker in workers:
            if worker.status in ("stopped", "lost") and worker.last_seen_at < oldest:
                WorkerRepository(self._home.database).forget(worker.worker_id)
