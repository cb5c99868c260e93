"""Lease heartbeats, lost workers, periodic maintenance."""

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


class LeaseHolder(Protocol):
    """An attempt, as far as its lease is concerned."""

    @property
    def lease(self) -> Lease:
        """Its right to the run or task."""

    def on_beat(self, answer: BeatAnswer) -> None:
        """Called with the queue's answer to each beat."""

    def lose(self) -> None:
        """Called if the lease is lost: kill everything, write nothing more."""

    def write_events(self) -> None:
        """Write the events so far; StorageError while the database is away."""


class Heartbeat:
    """Keeps the leases of a worker: one statement per queue and beat, however many leases there are.

    Only this thread waits for the database while it is away or a connection hangs.
    """

    def __init__(self, home: Home, worker: Worker, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._worker = worker
        self._clock = clock
        self._attempts: dict[str, LeaseHolder] = {}
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._is_over = False
        self._last_answer_s = clock()
        self._is_database_away = False

    def add(self, attempt: LeaseHolder) -> None:
        """Keep the lease of this attempt."""
        with self._lock:
            self._attempts[attempt.lease.token] = attempt

    def remove(self, attempt: LeaseHolder) -> None:
        """Stop keeping it."""
        with self._lock:
            self._attempts.pop(attempt.lease.token, None)

    def tokens(self) -> frozenset[str]:
        """The tokens of the leases that are kept."""
        with self._lock:
            return frozenset(self._attempts)

    def silence_s(self) -> float:
        """Seconds since the database last answered, on this machine's clock."""
        return self._clock() - self._last_answer_s

    def wake(self) -> None:
        """Beat now: there are events to write."""
        self._woken.set()

    def run(self, beat_s: float) -> None:
        """Beat until `end` is called."""
        while not self._is_over:
            self.beat()
            self._woken.wait(beat_s)
            self._woken.clear()

    def end(self) -> None:
        """Stop `run`."""
        self._is_over = True
        self._woken.set()

    def beat(self) -> None:
        """Keep the leases, pass the answers on and write the events of the attempts."""
        with self._lock:
            attempts = list(self._attempts.values())
        started_s = self._clock()
        try:
            leases = [attempt.lease for attempt in attempts]
            # A token belongs to one of the queues; the other does not know it.
            repositories = RunRepository(self._home.database), TaskRepository(self._home.database)
            answers = {answer.token: answer for queue in repositories for answer in queue.beat(leases)}
            if not WorkerRepository(self._home.database).beat(self._worker.worker_id):
                WorkerRepository(self._home.database).register(self._worker)
            self._last_answer_s = started_s
            for attempt in attempts:
                answer = answers.get(attempt.lease.token)
                if answer is not None:
                    attempt.on_beat(answer)
                elif attempt.lease.token in self.tokens():  # otherwise it has ended since
                    attempt.lose()
            for attempt in attempts:
                attempt.write_events()
        except StorageError as error:
            if not self._is_database_away:
                logger.warning("the database is away: %s", error)
            self._is_database_away = True
        else:
            if self._is_database_away:
                logger.warning("the database is back")
            self._is_database_away = False


class HeartbeatWatch:
    """Finds beat counts that stop growing, on this process's own clock: no two clocks are compared."""

    def __init__(self, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = timeout_s
        self._clock = clock
        self._seen: dict[Hashable, tuple[int, float]] = {}

    def stale(self, beats: dict[Hashable, int]) -> set[Hashable]:
        """The names whose count has not changed for longer than the timeout. Names not given are dropped."""
        now_s = self._clock()
        before = self._seen
        self._seen = {
            name: before[name] if name in before and before[name][0] == count else (count, now_s)
            for name, count in beats.items()
        }
        return {name for name, (_, since_s) in self._seen.items() if now_s - since_s > self._timeout_s}


_FORGET_AFTER = timedelta(days=7)


class Maintenance:
    """Requeues the runs of lost workers and runs the chores, in a thread of its own."""

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
        # By then a worker that cannot reach the database has stopped its children.
        timeout_s = settings.worker_lease_s + settings.cancel_grace_s + settings.worker_beat_s
        self._lease_watch = HeartbeatWatch(timeout_s, clock)
        self._worker_watch = HeartbeatWatch(timeout_s, clock)

    def run(self, every_s: float, must_end: threading.Event) -> None:
        """Work in rounds until told to end."""
        while not must_end.wait(every_s):
            for what, chore in {"looking for lost runs": self.requeue_lost_runs, **self._chores}.items():
                try:
                    chore()
                except StorageError as error:
                    logger.debug("%s waits for the database: %s", what, error)
                except Exception:
                    # The only thread that recovers runs must survive a bug in a chore or in a sweep.
                    logger.exception("%s failed", what)

    def requeue_lost_runs(self) -> None:
        """Requeue the runs and tasks of lost workers, and update the list of workers."""
        workers = {worker.worker_id: worker for worker in WorkerRepository(self._home.database).list()}
        leases, kept = self._own_leases()
        silent = self._lease_watch.stale({lease.token: lease.beats for lease in leases})
        for lease in leases:
            holder = workers.get(lease.worker_id)
            if lease.worker_id == self._worker_id:
                if lease.token not in kept:
                    # The answer to a claim, or to giving a run back, never arrived.
                    self._requeue(lease, f"{lease.worker_id} does not know that it had it.")
            elif holder is not None and is_gone(holder.pid, holder.process_start):
                self._requeue(lease, f"Its worker {lease.worker_id} has died.")
            elif lease.token in silent:
                self._requeue(lease, f"Its worker {lease.worker_id} has sent no heartbeat for too long.")
        self._update_workers(tuple(workers.values()))

    def _requeue(self, lost: LeaseBeat, reason: str) -> None:
        # Whether the attempt made progress is seen from its checkpoints by the next worker.
        num_failures = lost.num_failures + 1
        not_before = datetime.now(UTC) + timedelta(seconds=backoff_s(num_failures))
        lease = Lease(run_id=lost.run_id, token=lost.token)
        # A token belongs to one of the queues; the other does not know it.
        if RunRepository(self._home.database).requeue(
            lease, "lease-lost", reason, not_before=not_before, num_failures=num_failures
        ) or TaskRepository(self._home.database).requeue(
            lease, not_before=not_before, num_failures=num_failures
        ):
            logger.warning("%s goes back into the queue: %s", lost.run_id, reason)

    def _update_workers(self, workers: tuple[Worker, ...]) -> None:
        repository = WorkerRepository(self._home.database)
        working = [worker for worker in workers if worker.status in ("active", "draining")]
        silent = self._worker_watch.stale({worker.worker_id: worker.beats for worker in working})
        for worker in working:
            if worker.worker_id in silent or is_gone(worker.pid, worker.process_start):
                repository.set_status(worker.worker_id, "lost")
        if any(worker.worker_id == self._worker_id and worker.status == "lost" for worker in workers):
            repository.set_status(self._worker_id, "active")
        oldest = datetime.now(UTC) - _FORGET_AFTER
        for worker in workers:
            if worker.status in ("stopped", "lost") and worker.last_seen_at < oldest:
                repository.forget(worker.worker_id)
