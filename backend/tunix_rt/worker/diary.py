"""What a worker writes about a run in its hands, line by line under its lease: without it nothing."""

import logging
import threading
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from tunix_rt.base.errors import StorageError
from tunix_rt.core.runs.run import Lease, ServiceEventKind
from tunix_rt.db.runs import RunRepository
from tunix_rt.worker.outcome import Finished, Outcome, PutBack

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Note:
    kind: ServiceEventKind
    message: str
    details: dict[str, JsonValue]


class Diary:
    """Notes are kept until the database takes them, and reach it in order; the end comes last."""

    def __init__(self, runs: RunRepository, lease: Lease) -> None:
        self._runs = runs
        self._lease = lease
        self._notes: deque[_Note] = deque()
        self._writing = threading.Lock()
        self.is_closed = False
        """Whether nothing more can be written: the lease is lost, or the end is written."""

    def note(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        """Something has happened."""
        self._notes.append(_Note(kind, message, details))

    def write_notes(self) -> None:
        """Write down what is not written yet.

        Raises:
            StorageError: The database is away; nothing is forgotten.
        """
        with self._writing:
            while self._notes and not self.is_closed:
                note = self._notes[0]
                self.is_closed = not self._runs.event(self._lease, note.kind, note.message, note.details)
                self._notes.popleft()

    def write_end(self, outcome: Outcome, *, retry_s: float, must_leave: threading.Event) -> None:
        """Write the end, as often as it takes: what was trained is on the disk, only the queue is behind."""
        while not self.is_closed:
            try:
                self.write_notes()
                is_written = not self.is_closed and self._write(outcome)
                self.is_closed = True
            except StorageError as error:
                logger.warning("the end of %s is not written yet: %s", self._lease.run_id, error)
                if must_leave.wait(retry_s):
                    return
            else:
                logger.info("%s: %s", self._lease.run_id, outcome.message if is_written else "lost")

    def _write(self, outcome: Outcome) -> bool:
        return self._finish(outcome) if isinstance(outcome, Finished) else self._requeue(outcome)

    def _finish(self, end: Finished) -> bool:
        return self._runs.finish(
            self._lease,
            end.status,
            end.message,
            exit_code=end.exit_code,
            failure=end.failure,
            figures=end.figures,
        )

    def _requeue(self, end: PutBack) -> bool:
        not_before = datetime.now(UTC) + timedelta(seconds=end.wait_s) if end.wait_s else None
        return self._runs.requeue(
            self._lease, end.kind, end.message, not_before=not_before, num_failures=end.num_failures
        )
