"""The demo project of a server: `tunix-rt demo` as a child, whose results lie in the server's own home."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.logs import redacted
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings

_COMMAND = (sys.executable, "-m", "tunix_rt.cli", "demo", "--json")
_LEAVING_S = 10.0
"""How long it may take to save what it trains."""
_SHOWN_LINES = 6

DemoStatus = Literal["none", "running", "succeeded", "failed"]


class DemoFigures(Record):
    """Right answers of the model to the same held-out questions."""

    before: float
    """Share that was right before the training."""
    after: float
    low: float
    """Of the 95 % interval of `after`."""
    high: float
    num_items: int


class DemoState(Record):
    """Where the demo project stands."""

    status: DemoStatus
    stage: str | None = None
    """What it does now: `7/10 planning the training`."""
    figures: DemoFigures | None = None
    failure: str | None = None
    """The last that it printed."""


class DemoProject:
    """At most one demo at a time; it ends with the server."""

    def __init__(self, settings: Settings, command: Sequence[str] = _COMMAND) -> None:
        """Nothing is started yet."""
        self._settings = settings
        self._command = command
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> DemoState:
        """Begin; what an earlier one made stays.

        Raises:
            ConflictError: One is running.
        """
        with self._starting, storage_errors("starting the demo"):
            if self._is_running():
                raise ConflictError("The demo project is being made.", next_step="Wait until it is finished.")
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._result.open("wb") as result, self._log.open("wb") as log:
                # In a session of its own: Ctrl-C is for the server, which lets it save first.
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=result,
                    stderr=log,
                    env=self._environment(),
                    start_new_session=True,
                )
        return self.state()

    def state(self) -> DemoState:
        """Where it stands, whichever server has started it."""
        lines = _lines(self._log)
        # What a terminal is told behind the semicolon, as which key stops it, holds for a terminal only.
        stage = next((line.partition(";")[0] for line in reversed(lines) if _is_stage(line)), None)
        if self._is_running():
            return DemoState(status="running", stage=stage)
        if not self._log.exists():
            return DemoState(status="none")
        result = _result(_lines(self._result))
        if result is None:
            return DemoState(status="failed", stage=stage, failure="\n".join(lines[-_SHOWN_LINES:]))
        return DemoState(
            status="succeeded" if result["passed"] else "failed", stage=stage, figures=_figures(result)
        )

    def close(self) -> None:
        """End it, once it has saved what it trains."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_LEAVING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def _folder(self) -> Path:
        return self._settings.home_dir / "demo"

    @property
    def _log(self) -> Path:
        return self._folder / "log.txt"

    @property
    def _result(self) -> Path:
        return self._folder / "result.json"

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _environment(self) -> dict[str, str]:
        named = {"TUNIX_RT_HOME": str(self._settings.home_dir)}
        if self._settings.database_url is not None:
            named["TUNIX_RT_DATABASE_URL"] = self._settings.database_url
        return {**os.environ, **named}


def _lines(path: Path) -> list[str]:
    with storage_errors("reading the demo's output"):
        try:
            return redacted(path.read_text(encoding="utf-8", errors="replace")).splitlines()
        except FileNotFoundError:
            return []


def _is_stage(line: str) -> bool:
    """Whether a line is one like `7/10 planning the training`."""
    number, _, _ = line.partition("/10 ")
    return number.isdecimal()


def _result(lines: Sequence[str]) -> dict[str, Any] | None:
    """What it printed at its end; None when it did not come so far."""
    if not lines or not lines[-1].startswith("{"):
        return None
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _figures(result: dict[str, Any]) -> DemoFigures:
    low, high = result["interval"]
    values = {key: result[key] for key in ("before", "after", "num_items")}
    return DemoFigures(**values, low=low, high=high)
