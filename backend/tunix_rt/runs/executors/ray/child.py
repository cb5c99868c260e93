"""The worker's side: follow the node, keep a local replica of the run directory.

runs/<id>/events.jsonl metrics.jsonl log.txt   appended as they grow there, replaced when they are cut back
runs/<id>/*.json                               written whole when they change there
jobs/<id>/output.log                           appended
runs/<id>/checkpoints/<step>/ model/           at the end, whole directories, every file proved by its hash
runs/<id>/run_manifest.json                    last
"""

import hashlib
import shutil
import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import IO

from ray.exceptions import RayError

from tunix_rt.base.errors import ConflictError, DeviceError, StorageError, TunixRTError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_directory_atomically
from tunix_rt.base.files.copies import file_digest
from tunix_rt.base.files.locks import remove_if_unused
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.executors.base import ChildExit, Job
from tunix_rt.runs.executors.local import LocalExecutor
from tunix_rt.runs.executors.ray.actors import (
    CallCancelled,
    RunActor,
    StagedInputs,
    demand_of,
    nodes,
    reason,
    run_files,
)
from tunix_rt.runs.executors.ray.messages import (
    LINES,
    OUTPUT,
    RECIPE,
    RUN_DIR,
    Assignment,
    ReplicaState,
    Report,
)
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror
from tunix_rt.runs.files import JobDir

ReadChunk = Callable[[str, int], bytes]
"""Path in the run directory there, and offset, to the bytes from there on; nothing at the end."""


class Replica:
    """The local copy of a run directory. The caller must hold its lock."""

    def __init__(self, job_dir: JobDir, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._output = job_dir.open_output()
        self.known = ReplicaState()
        """The state that reports have been applied to."""

    def print_line(self, text: str) -> None:
        """Print a line into the output of the run."""
        with storage_errors("writing the output of a run"):
            self._output.write(f"{text}\n".encode())

    def apply(self, report: Report) -> None:
        """Write what is new.

        Raises:
            StorageError: The disk is full or not writable.
        """
        for name, growth in report.growths.items():
            path = self._run_dir.path / name
            if name == OUTPUT:
                with storage_errors("writing the output of a run"):
                    self._output.write(growth.data)
            elif growth.is_new:
                _write(path, growth.data)
            else:
                with storage_errors(f"writing {name}"), path.open("ab") as file:
                    file.write(growth.data)
            self.known.positions[name] = growth.position
        for name, (stamp, data) in report.files.items():
            # A directory with a manifest is complete: the manifest is written last.
            if name != self._run_dir.manifest.name:
                _write(self._run_dir.path / name, data)
            self.known.stamps[name] = stamp
        for path in self._run_dir.path.iterdir():
            is_ours = path.is_file() and not path.name.startswith(".") and path.name not in LINES
            if is_ours and path.name not in report.names:
                path.unlink()
                self.known.stamps.pop(path.name, None)

    def collect(self, hashes: Mapping[str, str], read: ReadChunk) -> None:
        """Copy the remaining files from the node.

        Args:
            hashes: SHA-256 of every file on the node by its path, the manifest last.
            read: Reads a chunk of one.

        Raises:
            StorageError: A file did not arrive as it was sent, or cannot be written.
        """
        run_dir, directories = self._run_dir, {_directory_of(path) for path in hashes} - {None}
        for directory in sorted(filter(None, directories)):
            files = {path: sha256 for path, sha256 in hashes.items() if _directory_of(path) == directory}
            if all(_matches(run_dir.path / path, sha256) for path, sha256 in files.items()):
                continue
            with write_directory_atomically(run_dir.path / directory, what=f"collecting {directory}") as copy:
                for path, sha256 in files.items():
                    local = copy / Path(path).relative_to(directory)
                    local.parent.mkdir(parents=True, exist_ok=True)
                    with local.open("wb") as file:
                        _copy(path, sha256, read, file)
        for place in (run_dir.model, *run_dir.checkpoints.glob("[0-9]*")):
            if place.relative_to(run_dir.path).as_posix() not in directories:
                shutil.rmtree(place, ignore_errors=True)
        for path, sha256 in hashes.items():
            if _directory_of(path) is None and not _matches(run_dir.path / path, sha256):
                with write_atomically(run_dir.path / path, what=f"collecting {path}") as target:
                    _copy(path, sha256, read, target)

    def close(self) -> None:
        """Close the output."""
        self._output.close()


def _directory_of(path: str) -> str | None:
    """The directory that is copied as a whole with a file; None if the file is copied alone.

    Example:
        "checkpoints/20/state/d/1" -> "checkpoints/20"; "model/config.json" -> "model"; "plan.json" -> None
    """
    first, *rest = Path(path).parts
    if first == "checkpoints" and len(rest) > 1 and rest[0].isdecimal():
        return f"{first}/{rest[0]}"
    return first if first == "model" and rest else None


def _matches(path: Path, sha256: str) -> bool:
    return path.is_file() and file_digest(path) == sha256


def _write(path: Path, data: bytes) -> None:
    with write_atomically(path, what=f"writing {path.name}") as file:
        file.write(data)


def _copy(path: str, sha256: str, read: ReadChunk, target: IO[bytes]) -> None:
    digest, offset = hashlib.sha256(), 0
    while chunk := read(path, offset):
        target.write(chunk)
        digest.update(chunk)
        offset += len(chunk)
    if digest.hexdigest() != sha256:
        raise StorageError(
            f"{path} was damaged on its way from the node.",
            next_step="Resume the run: it continues from its last checkpoint.",
        )


_REPORT_EVERY_S = 0.5
_LOCK_S = 10.0
_QUIET_S = 10.0
_OF_THIS_MACHINE = {"TUNIX_RT_HOME", "TUNIX_RT_DATABASE_URL", "CUDA_VISIBLE_DEVICES"}
"""Paths, secrets and devices that must not leave this machine."""
_STOPPED = 128 + signal.SIGTERM
"""Exit code of an engine that was asked to stop."""


class RayChild:
    """An attempt that trains on a node, while its files are replicated here."""

    def __init__(self, job: Job, staged: StagedInputs, settings: Settings) -> None:
        self._job = job
        self._staged = staged
        self._settings = settings
        url = settings.checkpoint_url
        self._mirror = None if url is None else CheckpointMirror(url, job.run_dir.run_id)
        self._is_training = False
        self._is_stopping = False
        self._is_killed = False
        self._writes_nothing = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"ray-{job.run_dir.run_id}")
        self._ended = self._pool.submit(self._run)

    def poll(self) -> ChildExit | None:
        """How it ended; None while any process of it runs."""
        return self._ended.result() if self._ended.done() else None

    def stop(self) -> None:
        """Ask it to save and stop; its supervisor on the node kills it after the grace period."""
        self._is_stopping = True

    def kill(self) -> None:
        """Kill it at once. Nothing is written into its directories afterwards."""
        self._is_killed = True
        self._writes_nothing.wait(_QUIET_S)

    def close(self) -> None:
        """Kill it if it still runs, and wait."""
        self._is_killed = True
        self._pool.shutdown()

    def _run(self) -> ChildExit:
        job = self._job
        job.job_dir.error.unlink(missing_ok=True)  # of an earlier attempt
        try:
            with job.run_dir.held(wait_s=_LOCK_S), closing(Replica(job.job_dir, job.run_dir)) as replica:
                try:
                    return self._on_a_node(replica)
                except TunixRTError as error:
                    # In the log as the command line prints errors, and for the worker.
                    replica.print_line(f"error: {error.detail}\nnext:  {error.next_step}")
                    job.job_dir.write_error(error)
                    is_lost = isinstance(error, ConflictError | DeviceError | StorageError)
                    return ChildExit(None if is_lost else error.exit_code, detail=str(error))
        except TunixRTError as error:
            # Another process holds the directory, or the output is not writable.
            return ChildExit(None, detail=str(error))
        finally:
            self._writes_nothing.set()
            remove_if_unused(job.run_dir.path)

    def _on_a_node(self, replica: Replica) -> ChildExit:
        job, where = self._job, "A Ray node"
        demand = demand_of(job.device, job.recipe.sharding, self._settings, nodes())
        replica.print_line(f"asking the Ray cluster for {demand}")

        def is_cancelled() -> bool:
            return self._is_killed or (self._is_stopping and not self._is_training)

        actor = RunActor(job.run_dir.run_id, demand, self._staged.package, is_cancelled)
        try:
            where = f"The Ray node {actor.call('host')}"
            replica.print_line(f"{where} trains it")
            self._upload_inputs(actor)
            actor.call("start", self._assignment())
            self._is_training = True
            exit_ = self._follow_until_done(actor, replica)
            replica.collect(
                actor.call("listing"), lambda path, offset: bytes(actor.call("read", path, offset))
            )
            if exit_.code == 0 and self._mirror is not None:
                try:
                    self._mirror.remove()
                except StorageError as error:
                    replica.print_line(str(error))
            return exit_
        except CallCancelled:
            # `kill` need not wait until the node has cleaned up.
            self._writes_nothing.set()
            if self._is_killed:
                return ChildExit(None, signal.SIGKILL, "It was killed.", was_killed=True)
            return ChildExit(_STOPPED, detail="It was stopped before it started.")
        except RayError as error:
            lost = f"{where} was lost: {reason(error)}"
            replica.print_line(lost)
            return ChildExit(None, detail=lost)
        finally:
            actor.release()

    def _upload_inputs(self, actor: RunActor) -> None:
        job, dataset = self._job, self._job.recipe.data.dataset
        newest_here = LocalExecutor().newest_step(job.run_dir)
        is_newest_here = self._mirror is None or newest_here > self._mirror.newest_step()
        for chunk in [] if dataset is None else self._staged.dataset(dataset):
            actor.call("write", chunk.path, chunk.offset, chunk.data)
        for chunk in run_files(job, with_checkpoints=is_newest_here):
            actor.call("write", chunk.path, chunk.offset, chunk.data)

    def _assignment(self) -> Assignment:
        job = self._job
        paths = {str(job.run_dir.path): RUN_DIR, str(job.job_dir.recipe): RECIPE}
        return Assignment(
            attempt=job.attempt,
            command=tuple(paths.get(argument, argument) for argument in job.command),
            environment={name: job.environment[name] for name in job.environment.keys() - _OF_THIS_MACHINE},
            recipe=job.recipe,
            grace_s=job.grace_s,
            worker_timeout_s=self._settings.worker_lease_s,
            checkpoint_url=self._settings.checkpoint_url,
        )

    def _follow_until_done(self, actor: RunActor, replica: Replica) -> ChildExit:
        """Apply reports until the last one; returns how it ended."""
        is_stop_sent = False
        while True:
            if self._is_stopping and not is_stop_sent:
                actor.call("stop")
                is_stop_sent = True
            report = actor.call("report", replica.known)
            replica.apply(report)
            if report.is_last:
                ended: ChildExit = report.exit
                return ended
            if report.exit is None and not report.has_more:
                time.sleep(_REPORT_EVERY_S)
