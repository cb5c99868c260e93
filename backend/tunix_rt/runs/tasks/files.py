"""tasks/<id>: progress, result, exported files.

tasks/<task_id>/output.log     and the other files of a job directory
tasks/<task_id>/progress.json  its progress
tasks/<task_id>/export/        the exported files; for a zip, the file and its report
tasks/<task_id>/result.json    its result, written last
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.files.copies import CHUNK_BYTES, stream_zip
from tunix_rt.base.records import Record
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.tasks.types import TaskProgress, TaskResult

_Record = TypeVar("_Record", bound=Record)


@dataclass(frozen=True)
class TaskDir:
    """The paths of one task."""

    path: Path

    @property
    def job_dir(self) -> JobDir:
        """The same directory, as a job directory."""
        return JobDir(self.path)

    @property
    def export(self) -> Path:
        """Directory of the exported files."""
        return self.path / "export"

    @property
    def archive(self) -> Path:
        """The file of a zip export."""
        return self.export / "model.zip"

    @property
    def result(self) -> Path:
        """Its result."""
        return self.path / "result.json"

    @property
    def progress(self) -> Path:
        """Its progress."""
        return self.path / "progress.json"

    def read_progress(self) -> TaskProgress | None:
        """Its progress; None before it has started."""
        return _read(self.progress, TaskProgress)

    def write_progress(self, progress: TaskProgress) -> None:
        """Write its progress."""
        write_json_atomically(self.progress, progress.to_json(), what="writing the progress of a task")

    def read_result(self) -> TaskResult | None:
        """Its result; None before it has succeeded."""
        return _read(self.result, TaskResult)

    def write_result(self, result: TaskResult) -> None:
        """Write its result, last of all: a task with a result is complete."""
        write_json_atomically(self.result, result.to_json(), what="writing the result of a task")

    def clear(self) -> None:
        """Remove the files of an earlier attempt; its output stays."""
        with storage_errors("clearing the directory of a task"):
            self.result.unlink(missing_ok=True)
            self.progress.unlink(missing_ok=True)
            if self.export.exists():
                shutil.rmtree(self.export)

    def remove(self) -> None:
        """Remove everything of the task."""
        with storage_errors("removing the directory of a task"):
            if self.path.exists():
                shutil.rmtree(self.path)

    def zip_of_export(self) -> Iterator[bytes]:
        """The exported files as a zip, created while it is sent."""
        files = sorted(path for path in self.export.rglob("*") if path.is_file())
        return stream_zip((path.relative_to(self.export).as_posix(), file_chunks(path)) for path in files)


def file_chunks(path: Path) -> Iterator[bytes]:
    """The chunks of a file, read while they are sent."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _read(path: Path, kind: type[_Record]) -> _Record | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
