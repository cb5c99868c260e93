"""What `tunix-rt doctor` found, kept until somebody wants to know again: engines take seconds to start."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from tunix_rt.base.records import Record
from tunix_rt.core.doctor import Diagnosis


class Examination(Record):
    """The machine as it was found."""

    examined_at: datetime
    diagnosis: Diagnosis


class KeptDiagnosis:
    """Examines once for everybody who asks; whoever waits for the same examination gets the same."""

    def __init__(self, examine: Callable[[], Diagnosis]) -> None:
        """Nothing is examined yet."""
        self._examine = examine
        self._examining = threading.Lock()
        self._last: Examination | None = None

    def get(self, *, is_fresh: bool = False) -> Examination:
        """The last one; a new one when there is none, or when asked for."""
        asked_at = datetime.now(UTC)
        with self._examining:
            if self._last is None or (is_fresh and self._last.examined_at < asked_at):
                self._last = Examination(examined_at=datetime.now(UTC), diagnosis=self._examine())
            return self._last
