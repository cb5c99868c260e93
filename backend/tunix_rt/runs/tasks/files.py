"""tasks/<id>: progress, result, exported files.

tasks/<task_id>/output.log     and the other files of a job directory
tasks/<task_id>/progress.json  its progress
tasks/<task_id>/export/        the exported files; for a zip, the file and its report
tasks/<task_id>/result.json    its result, written last
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.base.files.copies import CHUNK_BYTES, stream_zip
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.tasks.types import TaskProgress, TaskResult


class TaskDir:
    """The paths of one task, which are described above, and its records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job_dir = JobDir(path)
        """The same directory, as a job directory."""
        self.export = path / "export"
        self.archive = self.export / "model.zip"
        """The file of a zip export."""
        self.result = path / "result.json"
        self.progress = path / "progress.json"

    def write_progress(self, progress: TaskProgress) -> None:
        """Write its progress."""
        write_json_atomically(self.progress, progress.to_json(), what="writing the progress of a task")

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
