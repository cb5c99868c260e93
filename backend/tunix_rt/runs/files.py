"""jobs/<id>: attempts, child and exit records, output.

jobs/<run_id>/recipe.yaml   the resolved recipe that the engine gets, written when the run is submitted
jobs/<run_id>/output.log    the raw bytes that its processes printed, over all attempts; locked by them
jobs/<run_id>/attempt.json  where the newest attempt began
jobs/<run_id>/child.json    who supervises the newest attempt; absent while that one begins
jobs/<run_id>/exit.json     how that attempt ended, written when nothing of it runs any more
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.files.locks import is_locked, lock
from tunix_rt.base.records import Record
from tunix_rt.base.settings import JOB_RECIPE_FILE

_Record = TypeVar("_Record", bound=Record)
_TAIL_BYTES = 64 * 1024


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
        return self.path / JOB_RECIPE_FILE

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
        """The newest attempt; None before the first, and until the next has said who it is."""
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
        file = self._open_output_file()
        self._end_line(file)
        return file

    @contextmanager
    def held_output(self) -> Iterator[BinaryIO]:
        """The output, for the processes of one attempt: while one of them has it, no other attempt gets it.

        The lock is theirs as soon as they are started with this file, whatever becomes of this process.

        Raises:
            StorageError: As for `open_output`; or a process of another attempt lives.
        """
        with self._open_output_file() as file:
            if not lock(file.fileno()):
                raise still_running(self.run_id)
            self._end_line(file)
            yield file

    def is_output_held(self) -> bool:
        """Whether a process of any attempt lives."""
        return is_locked(self.output)

    def _open_output_file(self) -> BinaryIO:
        with storage_errors("opening the output of a run"):
            self.path.mkdir(parents=True, exist_ok=True)
            return self.output.open("ab", buffering=0)

    def _end_line(self, file: BinaryIO) -> None:
        if not _ends_with_newline(self.output):
            file.write(b"\n")

    def output_tail(self, num_bytes: int = _TAIL_BYTES) -> str:
        """The end of the output as text, whatever bytes and however long lines it has."""
        if not self.output.exists():
            return ""
        with self.output.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - num_bytes))
            return file.read(num_bytes).decode("utf-8", errors="replace")


def still_running(run_id: str) -> StorageError:
    """Nothing may be started: a run is never trained twice at once."""
    return StorageError(
        f"A process of an earlier attempt at {run_id} is still running.",
        next_step=f"It is waited for. Should it not end, end it: its environment has TUNIX_RT_JOB={run_id}/…",
    )


def _ends_with_newline(path: Path) -> bool:
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
