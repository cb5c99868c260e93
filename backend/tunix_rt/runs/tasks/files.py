"""tasks/<id>: progress, result, exported files.

tasks/<task_id>/output.log     and the other files of a job directory
tasks/<task_id>/progress.json  how far it is
tasks/<task_id>/export/        what an export wrote; of a zip, the file and its report
tasks/<task_id>/result.json    written last: what came out
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
        """The same directory, as whoever supervises its processes sees it."""
        return JobDir(self.path)

    @property
    def export(self) -> Path:
        """Directory of what was exported."""
        return self.path / "export"

    @property
    def archive(self) -> Path:
        """What an export as a zip wrote."""
        return self.export / "model.zip"

    @property
    def result(self) -> Path:
        """What came out."""
        return self.path / "result.json"

    @property
    def progress(self) -> Path:
        """How far it is."""
        return self.path / "progress.json"

    def read_progress(self) -> TaskProgress | None:
        """How far it is; None before it has begun."""
        return _read(self.progress, TaskProgress)

    def write_progress(self, progress: TaskProgress) -> None:
        """Say how far it is."""
        write_json_atomically(self.progress, progress.to_json(), what="writing the progress of a task")

    def read_result(self) -> TaskResult | None:
        """What came out; None before its end."""
        return _read(self.result, TaskResult)

    def write_result(self, result: TaskResult) -> None:
        """Write what came out. Last of all: whoever finds it finds everything else too."""
        write_json_atomically(self.result, result.to_json(), what="writing the result of a task")

    def clear(self) -> None:
        """Remove what an earlier attempt made; its output stays."""
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
        """The exported files as one archive, made while it is sent."""
        files = sorted(path for path in self.export.rglob("*") if path.is_file())
        return stream_zip((path.relative_to(self.export).as_posix(), file_pieces(path)) for path in files)


def file_pieces(path: Path) -> Iterator[bytes]:
    """The pieces of a file, read while they are sent."""
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece


def _read(path: Path, kind: type[_Record]) -> _Record | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
