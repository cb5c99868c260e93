"""Job directories: what the service keeps about a run, beside the run directory, which is the engine's.

jobs/<run_id>/recipe.yaml   the resolved recipe that the engine gets, written when the run is submitted
jobs/<run_id>/output.log    the raw bytes that its processes printed, over all attempts
jobs/<run_id>/attempt.json  where the newest attempt began
jobs/<run_id>/child.json    who supervises the newest attempt
jobs/<run_id>/exit.json     how that attempt ended, written when nothing of it runs any more
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from tunix_rt.core.record import Record
from tunix_rt.files.atomic import storage_errors, write_json_atomically

_Record = TypeVar("_Record", bound=Record)
RECIPE_FILE = "recipe.yaml"
_BYTES_OF_A_TAIL = 64 * 1024


class AttemptRecord(Record):
    """Where an attempt began. A later checkpoint than that is progress."""

    attempt: int
    """Counts from 1."""
    first_step: int
    """Of the newest checkpoint that was there; 0 when there was none."""


class ChildRecord(Record):
    """Who supervises an attempt."""

    attempt: int
    pid: int
    """Of the supervisor."""
    process_start: str
    """When the supervisor began, as the operating system says it: a pid that is used again is another one."""
    mark: str
    """What its processes have in their environment as `TUNIX_RT_JOB`: even those are found by it that left
    their group and lost their supervisor."""


class ExitRecord(Record):
    """How an attempt ended."""

    attempt: int
    mark: str
    """The same as in `child.json`."""
    code: int | None = None
    """The exit code of the engine; absent when a signal ended it."""
    signal: int | None = None
    stop_reason: str | None = None
    """Why its supervisor ended it; absent when it ended by itself."""
    was_killed: bool = False
    """Whether it was asked to stop and did not in time."""


@dataclass(frozen=True)
class JobDir:
    """The paths of one run's job."""

    path: Path

    @property
    def run_id(self) -> str:
        """The run's id: the name of the directory."""
        return self.path.name

    @property
    def recipe(self) -> Path:
        """The recipe that the engine gets."""
        return self.path / RECIPE_FILE

    @property
    def output(self) -> Path:
        """What the processes printed."""
        return self.path / "output.log"

    @property
    def attempt(self) -> Path:
        """Where the newest attempt began."""
        return self.path / "attempt.json"

    @property
    def child(self) -> Path:
        """Who supervises the newest attempt."""
        return self.path / "child.json"

    @property
    def exit(self) -> Path:
        """How the newest attempt ended."""
        return self.path / "exit.json"

    def read_attempt(self) -> AttemptRecord | None:
        """Where the newest attempt began; None before the first."""
        return _read(self.attempt, AttemptRecord)

    def write_attempt(self, record: AttemptRecord) -> None:
        """Remember where an attempt begins.

        Raises:
            StorageError: The disk is full or may not be written.
        """
        write_json_atomically(self.attempt, record.to_json(), what="writing down an attempt")

    def read_child(self) -> ChildRecord | None:
        """The newest attempt; None before the first."""
        return _read(self.child, ChildRecord)

    def read_exit(self, mark: str) -> ExitRecord | None:
        """How the processes with this mark ended; None when nobody has written it down."""
        record = _read(self.exit, ExitRecord)
        return record if record is not None and record.mark == mark else None

    def open_output(self) -> BinaryIO:
        """The output, for one more attempt: what was printed before stays, on lines of its own.

        Raises:
            StorageError: The disk is full or may not be written.
        """
        with storage_errors("opening the output of a run"):
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.output.open("ab", buffering=0)
        if not _ends_with_a_line(self.output):
            file.write(b"\n")
        return file

    def output_tail(self, num_bytes: int = _BYTES_OF_A_TAIL) -> str:
        """The end of the output as text, whatever bytes and however long lines it has."""
        if not self.output.exists():
            return ""
        with self.output.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - num_bytes))
            return file.read(num_bytes).decode("utf-8", errors="replace")


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _read(path: Path, kind: type[_Record]) -> _Record | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
