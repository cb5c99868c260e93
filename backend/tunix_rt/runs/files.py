"""jobs/<id>: attempts, child and exit records, output.

jobs/<run_id>/recipe.yaml   the resolved recipe for the engine, written when the run is submitted
jobs/<run_id>/output.log    the raw output of its processes, over all attempts; locked by them
jobs/<run_id>/attempt.json  where the newest attempt began
jobs/<run_id>/child.json    the supervisor of the newest attempt; absent while that attempt starts
jobs/<run_id>/error.json    the error of the newest child, where TUNIX_RT_ERROR_FILE points
jobs/<run_id>/exit.json     how that attempt ended, written when no process of it is left
"""

import os
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from tunix_rt.base.errors import StorageError, TunixRTError, error_fields
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.files.locks import is_locked, lock
from tunix_rt.base.records import Record
from tunix_rt.base.settings import JOB_RECIPE_FILE
from tunix_rt.engines.training.types import RunFailure

_Record = TypeVar("_Record", bound=Record)
_TAIL_BYTES = 64 * 1024


class AttemptRecord(Record):
    """Where an attempt began. A later checkpoint is progress."""

    attempt: int
    """Counts from 1."""
    first_step: int
    """Of the newest checkpoint then; 0 if there was none."""


class ChildRecord(Record):
    """The supervisor of an attempt."""

    attempt: int
    pid: int
    """Of the supervisor."""
    process_start: str
    """When the supervisor started, from the operating system: it tells a reused pid apart."""
    mark: str
    """The value of `TUNIX_RT_JOB` in the environment of its processes: it finds even those that left their
    process group and lost their supervisor."""


class ExitRecord(Record):
    """How an attempt ended."""

    attempt: int
    mark: str
    """The same as in `child.json`."""
    code: int | None = None
    """The exit code of the engine; absent if a signal ended it."""
    signal: int | None = None
    stop_reason: str | None = None
    """Why its supervisor stopped it; absent if it exited by itself."""
    was_killed: bool = False
    """Whether it did not stop in time and was killed."""


class ErrorRecord(RunFailure):
    """The error with which the command line of a child ended."""

    exit_code: int


class JobDir:
    """The paths of one run's job, which are described above, and its records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_id = path.name
        self.recipe = path / JOB_RECIPE_FILE
        self.output = path / "output.log"
        self.attempt = path / "attempt.json"
        self.child = path / "child.json"
        self.error = path / "error.json"
        self.exit = path / "exit.json"

    def read_attempt(self) -> AttemptRecord | None:
        """Where the newest attempt began; None before the first."""
        return read_record(self.attempt, AttemptRecord)

    def write_attempt(self, record: AttemptRecord) -> None:
        """Record where an attempt begins.

        Raises:
            StorageError: The disk is full or not writable.
        """
        write_json_atomically(self.attempt, record.to_json(), what="recording an attempt")

    def read_child(self) -> ChildRecord | None:
        """The newest attempt; None before the first, and while an attempt starts."""
        return read_record(self.child, ChildRecord)

    def read_exit(self, mark: str) -> ExitRecord | None:
        """How the processes with this mark ended; None if that is not recorded."""
        record = read_record(self.exit, ExitRecord)
        return record if record is not None and record.mark == mark else None

    def read_error(self) -> RunFailure | None:
        """The error that the newest child wrote; None if it wrote none."""
        error = read_record(self.error, ErrorRecord)
        return None if error is None else RunFailure(**error.model_dump(exclude={"exit_code"}))

    def write_error(self, error: TunixRTError) -> None:
        """Write an error as a child does.

        Raises:
            StorageError: The disk is full or not writable.
        """
        record = error_fields(error) | {"exit_code": error.exit_code}
        write_json_atomically(self.error, record, what="writing the error of a run")

    def open_output(self, *, is_exclusive: bool = False) -> BinaryIO:
        """Open the output for appending, at the start of a line.

        Args:
            is_exclusive: Lock it for the processes of one attempt: no other attempt can lock it meanwhile.
                They inherit the lock with the file and keep it, whatever happens to this process.

        Raises:
            StorageError: The disk is full or not writable; or a process of another attempt is alive.
        """
        with storage_errors("opening the output of a run"):
            self.path.mkdir(parents=True, exist_ok=True)
            file = self.output.open("a+b", buffering=0)
            if is_exclusive and not lock(file.fileno()):
                file.close()
                raise still_running(self.run_id)
            num_bytes = os.fstat(file.fileno()).st_size
            if num_bytes and os.pread(file.fileno(), 1, num_bytes - 1) != b"\n":
                file.write(b"\n")
            return file

    def is_output_held(self) -> bool:
        """Whether a process of any attempt is alive."""
        return is_locked(self.output)

    def output_tail(self, num_bytes: int = _TAIL_BYTES) -> str:
        """The end of the output as text; bytes that are not UTF-8 are replaced."""
        if not self.output.exists():
            return ""
        with self.output.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - num_bytes))
            return file.read(num_bytes).decode("utf-8", errors="replace")


def still_running(run_id: str) -> StorageError:
    """The error for a run that would be trained twice at once."""
    return StorageError(
        f"A process of an earlier attempt at {run_id} is still running.",
        next_step="The worker waits for it. If it does not end, kill it: its environment has "
        f"TUNIX_RT_JOB={run_id}/…",
    )


def read_record(path: Path, kind: type[_Record]) -> _Record | None:
    """The record in a file; None if there is none, or the file is damaged."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
