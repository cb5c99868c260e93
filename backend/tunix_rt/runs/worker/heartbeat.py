"""Lease beats, lost workers, periodic chores."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.runs.executors.processes import is_gone
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.types import BeatAnswer, Lease, LeaseBeat, Worker, backoff_s

logger = logging.getLogger(__name__)


class Beating(Protocol):
    """An attempt, as far as its lease is concerned."""

    @property
    def lease(self) -> Lease:
        """Its right to the run."""

    def on_beat(self, answer: BeatAnswer) -> None:
        """What the queue says about the run."""

    def lose(self) -> None:
        """The lease is lost: end everything, write nothing more."""

    def write_notes(self) -> None:
        """Write down what has happened; StorageError when the database is away."""


class Heartbeat:
    """Keeps the leases of a worker, in one statement a queue each time, whatever the number of its runs.

    The database is asked from here only: while it is away, or a connection hangs, nobody but this waits.
    """

    def __init__(self, home: Home, worker: Worker, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._worker = worker
        self._clock = clock
        self._attempts: dict[str, Beating] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._is_over = False
        self._last_answer_s = clock()
        self._is_database_away = False

    def add(self, attempt: Beating) -> None:
        """Keep the lease of one more attempt."""
        with self._lock:
            self._attempts[attempt.lease.token] = attempt

    def remove(self, attempt: Beating) -> None:
        """Keep it no longer."""
        with self._lock:
            self._attempts.pop(attempt.lease.token, None)

    def tokens(self) -> frozenset[str]:
        """Of the leases that are kept."""
        with self._lock:
            return frozenset(self._attempts)

    def silence_s(self) -> float:
        """Seconds since the database last answered, on this machine's own clock."""
        return self._clock() - self._last_answer_s

    def wake(self) -> None:
        """There is something to write down: do not wait for the next beat."""
        self._woken.set()

    def run(self, beat_s: float) -> None:
        """Beat until told to end."""
        while not self._is_over:
            self.beat()
            self._woken.wait(beat_s)
            self._woken.clear()

    def end(self) -> None:
        """No more beats."""
        self._is_over = True
        self._woken.set()

    def beat(self) -> None:
        """One round: keep the leases, on_beat what is asked, write down what has happened."""
        with self._lock:
            attempts = list(self._attempts.values())
        began_s = self._clock()
        try:
            leases = [attempt.lease for attempt in attempts]
            # A token is of a run or of a task: the other queue does not know it.
            answers = (
                *RunRepository(self._home.database).beat(leases),
                *TaskRepository(self._home.database).beat(leases),
            )
            if not WorkerRepository(self._home.database).beat(self._worker.worker_id):
                WorkerRepository(self._home.database).register(self._worker)
            self._last_answer_s = began_s
            self._tell(attempts, answers)
            for attempt in attempts:
                attempt.write_notes()
        except StorageError as error:
            self._say_once("the database is away: %s", error)
        else:
            self._say_once(None)

    def _tell(self, attempts: list[Beating], answers: tuple[BeatAnswer, ...]) -> None:
        by_token = {answer.token: answer for answer in answers}
        for attempt in attempts:
            answer = by_token.get(attempt.lease.token)
            if answer is not None:
                attempt.on_beat(answer)
            elif attempt.lease.token in self.tokens():  # else it has ended since
                attempt.lose()

    def _say_once(self, message: str | None, *values: object) -> None:
        was_away, self._is_database_away = self._is_database_away, message is not None
        if message is not None and not was_away:
            logger.warning(message, *values)
        elif message is None and was_away:
            logger.warning("the database is back")


_FORGET_AFTER = timedelta(days=7)


class HeartbeatWatch:
    """Notices what has not changed for a while, on this process's own clock: nobody's clock is compared."""

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = patience_s
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
        return {name for name, (_, since_s) in self._seen.items() if now_s - since_s > self._timeout_s}


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
        self._lease_watch = HeartbeatWatch(patience_s, clock)
        self._worker_watch = HeartbeatWatch(patience_s, clock)

    def run(self, every_s: float, must_end: threading.Event) -> None:
        """Look after everything until told to end."""
        while not must_end.wait(every_s):
            self._tried("looking for lost runs", self.requeue_lost_runs)
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

    def requeue_lost_runs(self) -> None:
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
        oldest = datetime.now(UTC) - _FORGET_AFTER
        for worker in workers:
            if worker.status in ("stopped", "lost") and worker.last_seen_at < oldest:
                WorkerRepository(self._home.database).forget(worker.worker_id)
