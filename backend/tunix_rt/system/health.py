"""Health check and service figures."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt import __version__
from tunix_rt.base.db.statements import ping
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.store.workers import QueueFigures, queue_figures


class Health(BaseModel):
    """A healthy server. An unhealthy one answers 503 with the reason."""

    model_config = ConfigDict(frozen=True)
    status: Literal["healthy"]
    version: str
    database: Literal["sqlite", "postgresql"]
    database_latency_ms: float


def check_health(home: Home) -> Health:
    """Query the database and time it. StorageError when it does not answer."""
    started = time.perf_counter()
    ping(home.database)
    latency_ms = (time.perf_counter() - started) * 1000
    is_sqlite = home.database.dialect.name == "sqlite"
    return Health(
        status="healthy",
        version=__version__,
        database="sqlite" if is_sqlite else "postgresql",
        database_latency_ms=round(latency_ms, 3),
    )


FRESH_FOR_S = 1.0
_TAIL_BYTES = 16 * 1024
"""Enough for the last metrics lines of a run."""


@dataclass(frozen=True)
class ServiceFigures:
    """The queue, and the speed of the running runs."""

    queue: QueueFigures
    tokens_per_s: dict[str, float]
    """By run id, without runs that have not logged a speed yet."""


class FiguresReader:
    """Reads the figures of a home, cached for one second."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at_s = -FRESH_FOR_S
        self._figures: ServiceFigures | None = None

    def read(self) -> ServiceFigures:
        """The figures. StorageError when the database does not answer."""
        with self._lock:
            now_s = self._clock()
            if self._figures is None or now_s - self._read_at_s >= FRESH_FOR_S:
                queue = queue_figures(self._home.database, datetime.now(UTC))
                runs_dir = self._home.settings.runs_dir
                speeds = (
                    (run_id, last_tokens_per_s(RunDir(runs_dir / run_id).metrics)) for run_id in queue.running
                )
                known = {run_id: speed for run_id, speed in speeds if speed is not None}
                self._figures, self._read_at_s = ServiceFigures(queue, known), now_s
            return self._figures


def last_tokens_per_s(metrics: Path) -> float | None:
    """The latest speed in a metrics file, which may be growing; None if there is none."""
    try:
        with metrics.open("rb") as file:
            file.seek(max(metrics.stat().st_size - _TAIL_BYTES, 0))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return None
    for line in reversed(lines[:-1]):
        try:
            value = json.loads(line).get("tokens_per_s")
        except ValueError:
            return None  # the cut-off beginning of the tail
        if value is not None:
            return float(value)
    return None
