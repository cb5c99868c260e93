"""What `tunix-rt doctor` finds, kept for a while: engines take seconds to start."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tunix_rt.core.doctor import Diagnosis
from tunix_rt.core.record import Record

_KEPT_FOR = timedelta(minutes=10)


class Examination(Record):
    """The machine as it was found."""

    examined_at: datetime
    diagnosis: Diagnosis


class KeptDiagnosis:
    """Examines once for everybody who asks at the same time, and again when that is long ago."""

    def __init__(self, examine: Callable[[], Diagnosis]) -> None:
        """Nothing is examined yet."""
        self._examine = examine
        self._examining = threading.Lock()
        self._last: Examination | None = None

    def get(self, *, is_fresh: bool = False) -> Examination:
        """The last one; a new one when asked for, or when that is older than ten minutes."""
        asked_at = datetime.now(UTC)
        with self._examining:
            oldest = asked_at if is_fresh else asked_at - _KEPT_FOR
            if self._last is None or self._last.examined_at < oldest:
                self._last = Examination(examined_at=datetime.now(UTC), diagnosis=self._examine())
            return self._last
