"""The node's side: scratch home, reports, checkpoint uploads."""

import os
import shutil
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tunix_rt.base.errors import InvalidInputError, StorageError
from tunix_rt.base.files.copies import file_digest
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.recipes.types import Recipe
from tunix_rt.runs.executors.base import ChildExit, ChildJob
from tunix_rt.runs.executors.local import LocalChild, LocalExecutor, saved_steps
from tunix_rt.runs.executors.ray.messages import (
    CHUNK_BYTES,
    LINES,
    OUTPUT,
    RECIPE,
    RUN_DIR,
    Assignment,
    Growth,
    Position,
    ReplicaState,
    Report,
    Stamp,
)
from tunix_rt.runs.executors.ray.mirror import CheckpointMirror, MirroredCheckpoint
from tunix_rt.runs.files import JobDir


def build_report(job_dir: JobDir, run_dir: RunDir, known: ReplicaState, exit_: ChildExit | None) -> Report:
    """Everything new, up to the size of one report.

    Args:
        job_dir: Of the attempt.
        run_dir: Of the run; it may not be there yet.
        known: What the worker has.
        exit_: How the child ended, read first: what has ended writes no more.
    """
    stamps = _stamps(run_dir.path)
    growths = {}
    for name, path in {OUTPUT: job_dir.output, **{name: run_dir.path / name for name in LINES}}.items():
        is_cut_at_lines = name != OUTPUT and exit_ is None
        growth = growth_of(path, known.positions.get(name), is_cut_at_lines=is_cut_at_lines)
        if growth is not None:
            growths[name] = growth
    return Report(
        growths=growths,
        files={
            name: (stamp, data)
            for name, stamp in stamps.items()
            if stamp != known.stamps.get(name) and (data := _small(run_dir.path / name)) is not None
        },
        names=frozenset(stamps),
        exit=exit_,
    )


def growth_of(path: Path, position: Position | None, *, is_cut_at_lines: bool) -> Growth | None:
    """What a growing file has after `position`; from its beginning when it is another file by now.

    Args:
        path: The file; it may not be there.
        position: How far the worker has it.
        is_cut_at_lines: Whether a last line without a newline is left for the next report.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        inode = os.fstat(file.fileno()).st_ino
        is_new = position is None or position.inode != inode
        offset = 0 if position is None or is_new else position.offset
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
    if is_cut_at_lines and len(data) < CHUNK_BYTES:
        data = data[: data.rfind(b"\n") + 1]
    return Growth(Position(inode, offset + len(data)), is_new, data) if data or is_new else None


def _stamps(directory: Path) -> dict[str, Stamp]:
    """Of the files at the top of the directory that do not grow."""
    stamps = {}
    for name in os.listdir(directory) if directory.is_dir() else []:
        path = directory / name
        # Names with a dot are temporary files or locks.
        if name.startswith(".") or name in LINES:
            continue
        with suppress(FileNotFoundError):  # removed since the listing
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                stamps[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return stamps


def _small(path: Path) -> bytes | None:
    """The content of the file; None if it is too large for a report, or gone."""
    try:
        with path.open("rb") as file:
            data = file.read(CHUNK_BYTES + 1)
    except FileNotFoundError:
        return None
    return data if len(data) <= CHUNK_BYTES else None


_POLL_EVERY_S = 0.5
# A node that counts as lost may still replace them while they are fetched.
_NUM_RESTORE_TRIES = 3
_Identity = tuple[int, int]
"""Inode and time of a directory: saving the same step again gives another one."""


class CheckpointUploads:
    """Mirrors the checkpoints of a run, in a thread of its own.

    Engines name a checkpoint by its step only when it is complete. It is hard-linked into a staging directory
    first: the engine may delete it during a slow upload.
    """

    def __init__(
        self, mirror: CheckpointMirror, run_dir: RunDir, staging: Path, log: Callable[[str], None]
    ) -> None:
        """Prepare; `begin` starts the uploads.

        Args:
            mirror: The target.
            run_dir: The source.
            staging: A directory on the disk of the run directory.
            log: Prints problems.
        """
        self._mirror = mirror
        self._run_dir = run_dir
        self._staging = staging
        self._log = log
        self._mirrored: dict[int, tuple[_Identity, MirroredCheckpoint]] = {}
        self._is_stopping = threading.Event()
        self._last_problem = ""
        self._thread = threading.Thread(target=self._run, name="checkpoint-uploads")

    def restore(self) -> None:
        """Fetch the mirrored checkpoints with their records, unless newer ones are here.

        Raises:
            StorageError: The mirror cannot be read.
        """
        newest_here = max(saved_steps(self._run_dir), default=0)
        for _ in range(_NUM_RESTORE_TRIES):
            mirrored = self._mirror.complete()
            if not mirrored or mirrored[-1].step < newest_here:
                return
            # All of them: the best weights may be in an older one.
            if any([self._fetch(checkpoint) for checkpoint in mirrored]):
                return

    def begin(self) -> None:
        """Start the uploads."""
        self._thread.start()

    def finish(self, *, is_needed: bool) -> None:
        """Stop the uploads, after a last one if it is needed."""
        self._is_stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        if is_needed:
            self._copy_and_report()

    def _fetch(self, checkpoint: MirroredCheckpoint) -> bool:
        try:
            records = self._mirror.fetch(checkpoint, self._run_dir.checkpoints)
        except StorageError as error:
            self._log(str(error))
            return False
        identity = _identity(self._run_dir.checkpoints / str(checkpoint.step))
        if identity is not None:
            self._mirrored[checkpoint.step] = (identity, checkpoint)
        for name, data in records.items():
            path = self._run_dir.path / name
            # Both begin with the same lines; the later copy has more of them.
            if not path.exists() or path.stat().st_size < len(data):
                path.write_bytes(data)
        return True

    def _run(self) -> None:
        while not self._is_stopping.wait(_POLL_EVERY_S):
            self._copy_and_report()

    def _copy_and_report(self) -> None:
        """Upload what is new. An unavailable mirror never stops a training; the upload is retried."""
        try:
            self._copy()
            self._last_problem = ""
        except StorageError as error:
            if str(error) != self._last_problem:
                self._last_problem = str(error)
                self._log(f"{error} The upload is retried; until then a lost node loses more steps.")

    def _copy(self) -> None:
        steps = saved_steps(self._run_dir)
        for step in steps:
            identity = _identity(self._run_dir.checkpoints / str(step))
            if identity is not None and self._mirrored.get(step, (None,))[0] != identity:
                self._put(step, identity)
        for step in self._mirrored.keys() - set(steps):
            if step < max(self._mirrored):  # the newest stays until a newer one is there
                self._mirror.drop(self._mirrored.pop(step)[1])

    def _put(self, step: int, identity: _Identity) -> None:
        earlier = self._mirrored.get(step)
        try:
            if (records := self._move_aside(step)) is None:
                return
            self._mirrored[step] = (identity, self._mirror.put(step, self._staging / str(step), records))
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
        if earlier is not None:
            self._mirror.drop(earlier[1])

    def _move_aside(self, step: int) -> dict[str, Path] | None:
        """Stage copies of a checkpoint and its records; None if the engine has deleted it."""
        checkpoint = self._run_dir.checkpoints / str(step)
        try:
            shutil.copytree(checkpoint, self._staging / str(step), copy_function=os.link)
        except (OSError, shutil.Error) as error:
            if not checkpoint.exists():
                return None
            raise StorageError(
                f"The checkpoint of step {step} cannot be copied: {error}.",
                next_step="Check the temporary directory of the node.",
            ) from error
        # After the checkpoint: the metrics include its steps.
        records = {name: self._staging / name for name in LINES if (self._run_dir.path / name).exists()}
        for name, copy in records.items():
            shutil.copyfile(self._run_dir.path / name, copy)
        return records


def _identity(checkpoint: Path) -> _Identity | None:
    try:
        status = checkpoint.stat()
    except FileNotFoundError:
        return None  # deleted by the engine
    return status.st_ino, status.st_mtime_ns


_NODE_POLL_S = 1.0


class Node:
    """One attempt at a run. Calls are idempotent: the network may lose an answer."""

    def __init__(self, home: Path, run_id: str) -> None:
        self._home = home
        self._job_dir = JobDir(home / "jobs" / run_id)
        self._run_dir = RunDir(home / "runs" / run_id)
        self._child: LocalChild | None = None
        self._uploads: CheckpointUploads | None = None
        self._exit: ChildExit | None = None
        self._last_heard_s = time.monotonic()
        self._is_abandoned = False
        self._is_closed = threading.Event()

    def write(self, relative: str, offset: int, data: bytes) -> None:
        """Write a chunk of a file into the scratch home."""
        path = self._home / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if path.exists() else "wb") as file:
            file.seek(offset)
            file.write(data)

    def host(self) -> str:
        """The name of this node."""
        return socket.gethostname()

    def start(self, assignment: Assignment) -> None:
        """Fetch the newest checkpoints and start the engine.

        Raises:
            InvalidInputError: The recipe names a directory that this node does not have.
            StorageError: The mirror cannot be read.
        """
        if self._child is not None:
            return
        _require_models(assignment.recipe)
        if assignment.checkpoint_url is not None:
            mirror = CheckpointMirror(assignment.checkpoint_url, self._run_dir.run_id)
            uploads = CheckpointUploads(mirror, self._run_dir, self._home / "staging", self._log)
            uploads.restore()
            uploads.begin()
            self._uploads = uploads
        paths = {RUN_DIR: str(self._run_dir.path), RECIPE: str(self._job_dir.recipe)}
        job = ChildJob(
            attempt=assignment.attempt,
            command=tuple(paths.get(argument, argument) for argument in assignment.command),
            environment={**assignment.environment, "TUNIX_RT_HOME": str(self._home)},
            job_dir=self._job_dir,
            grace_s=assignment.grace_s,
        )
        self._child = LocalExecutor().start(job)
        self._last_heard_s = time.monotonic()
        threading.Thread(
            target=self._watch, args=(self._child, assignment.worker_timeout_s), daemon=True
        ).start()

    def report(self, known: ReplicaState) -> Report:
        """Everything that the worker does not have."""
        self._last_heard_s = time.monotonic()
        return build_report(self._job_dir, self._run_dir, known, self._ended())

    def listing(self) -> dict[str, str]:
        """SHA-256 of every file of the run directory, by its path; the manifest comes last."""
        run_dir = self._run_dir
        hashes = run_dir.file_hashes() if run_dir.path.exists() else {}
        if run_dir.manifest.exists():
            hashes[run_dir.manifest.name] = file_digest(run_dir.manifest)
        return hashes

    def read(self, relative: str, offset: int) -> bytes:
        """A chunk of a file of the run directory; empty at its end."""
        self._last_heard_s = time.monotonic()
        with (self._run_dir.path / relative).open("rb") as file:
            file.seek(offset)
            return file.read(CHUNK_BYTES)

    def stop(self) -> None:
        """Ask the child to save and stop."""
        if self._child is not None:
            self._child.stop()

    def close(self) -> None:
        """End everything that still runs."""
        self._is_closed.set()
        if self._child is not None:
            self._child.kill()
            self._child.close()
        if self._uploads is not None:
            self._uploads.finish(is_needed=False)

    def _ended(self) -> ChildExit | None:
        """How the child ended, once its last checkpoint is mirrored."""
        if self._exit is None and self._child is not None and (exit_ := self._child.poll()) is not None:
            if self._is_abandoned:
                exit_ = replace(exit_, detail="Its worker was silent for too long.")
            if self._uploads is not None:
                self._uploads.finish(is_needed=exit_.code != 0)
            self._exit = exit_
        return self._exit

    def _watch(self, child: LocalChild, timeout_s: float) -> None:
        """Stop a child whose worker is gone, in case Ray does not notice; the mirror gets its checkpoint."""
        while not self._is_closed.wait(_NODE_POLL_S):
            if time.monotonic() - self._last_heard_s > timeout_s:
                self._is_abandoned = True
                child.stop()
                return

    def _log(self, text: str) -> None:
        with self._job_dir.open_output() as output:
            output.write(f"{text}\n".encode())


def _require_models(recipe: Recipe) -> None:
    for name in (recipe.model.name, recipe.model.tokenizer):
        if name is not None and Path(name).is_absolute() and not Path(name).exists():
            raise InvalidInputError(
                f"The recipe's model is in {name}, which the Ray node {socket.gethostname()} does not have.",
                next_step="Put it under the same path on a disk that all nodes share, or train it on this "
                "machine: --executor local.",
            )
