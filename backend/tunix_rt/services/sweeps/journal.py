"""Optuna's journal over records that were read from the database; the new ones wait until they are stored."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from optuna.storages.journal import BaseJournalBackend

from tunix_rt.db.sweeps import JournalRecord


class HeldJournal(BaseJournalBackend):
    """What the sampler remembers, and what it wants to remember from now on.

    The new records go to the database in one transaction with the trials that they are about, so that a
    process that dies at any moment leaves either both or none.
    """

    def __init__(self, records: Sequence[JournalRecord]) -> None:
        self._records = list(records)
        self._num_taken = len(records)

    def read_logs(self, log_number_from: int) -> Iterable[JournalRecord]:
        """The records from this place on."""
        return self._records[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Take records, as the plain JSON that will be read back."""
        self._records += [json.loads(json.dumps(log)) for log in logs]

    def take_new(self) -> list[JournalRecord]:
        """What must be stored: the records since the last time that somebody asked."""
        new = self._records[self._num_taken :]
        self._num_taken = len(self._records)
        return new
