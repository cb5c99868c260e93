"""Everything that a worker and the database say to each other while children run."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home
from tunix_rt.core.runs.run import Lease
from tunix_rt.core.runs.store_types import BeatAnswer
from tunix_rt.core.runs.worker import Worker
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.tasks import TaskRepository
from tunix_rt.db.workers import WorkerRepository

logger = logging.getLogger(__name__)


class Beating(Protocol):
    """An attempt, as far as its lease is concerned."""

    @property
    def lease(self) -> Lease:
        """Its right to the run."""

    def hear(self, answer: BeatAnswer) -> None:
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
        """One round: keep the leases, hear what is asked, write down what has happened."""
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
                attempt.hear(answer)
            elif attempt.lease.token in self.tokens():  # else it has ended since
                attempt.lose()

    def _say_once(self, message: str | None, *values: object) -> None:
        was_away, self._is_database_away = self._is_database_away, message is not None
        if message is not None and not was_away:
            logger.warning(message, *values)
        elif message is None and was_away:
            logger.warning("the database is back")
