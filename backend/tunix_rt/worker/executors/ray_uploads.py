"""Copies a run's checkpoints to the mirror while it trains."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from tunix_rt.base.errors import StorageError
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.checkpoint_mirror import CheckpointMirror, MirroredCheckpoint
from tunix_rt.worker.executors.ray_messages import LINES

_LOOK_EVERY_S = 0.5
# A node that was given up for lost may replace them while they are fetched.
_NUM_LOOKS = 3
_Identity = tuple[int, int]
"""Inode and time of a directory: one that is saved again for the same step is another one."""


class CheckpointUploads:
    """Keeps the mirror of a run equal to its checkpoints, in a thread of its own.

    Engines give a checkpoint the name of its step only when it is whole. It is linked aside first: the engine
    may drop it while slow storage still takes it.
    """

    def __init__(
        self, mirror: CheckpointMirror, run_dir: RunDir, staging: Path, say: Callable[[str], None]
    ) -> None:
        """Nothing is copied before `begin`.

        Args:
            mirror: Where to.
            run_dir: Where from.
            staging: A directory on the disk of the run directory.
            say: Tells people what went wrong.
        """
        self._mirror = mirror
        self._run_dir = run_dir
        self._staging = staging
        self._say = say
        self._mirrored: dict[int, tuple[_Identity, MirroredCheckpoint]] = {}
        self._is_ending = threading.Event()
        self._last_problem = ""
        self._thread = threading.Thread(target=self._copy_until_the_end, name="checkpoint-uploads")

    def restore(self) -> None:
        """Fetch what the mirror has, unless newer checkpoints are here already, with their records.

        Raises:
            StorageError: The mirror cannot be read.
        """
        newest_here = max(self._steps(), default=0)
        for _ in range(_NUM_LOOKS):
            mirrored = self._mirror.complete()
            if not mirrored or mirrored[-1].step < newest_here:
                return
            # All of them: one that is not the newest may hold the best weights.
            if any([self._fetched(checkpoint) for checkpoint in mirrored]):
                return

    def begin(self) -> None:
        """Copy from now on."""
        self._thread.start()

    def finish(self, *, is_needed: bool) -> None:
        """Copy what is there yet if it is needed, and no more."""
        self._is_ending.set()
        if self._thread.ident is not None:
            self._thread.join()
        if is_needed:
            self._copy_or_say()

    def _fetched(self, checkpoint: MirroredCheckpoint) -> bool:
        try:
            records = self._mirror.fetch(checkpoint, self._run_dir.checkpoints)
        except StorageError as error:
            self._say(str(error))
            return False
        identity = _identity(self._run_dir.checkpoints / str(checkpoint.step))
        if identity is not None:
            self._mirrored[checkpoint.step] = (identity, checkpoint)
        for name, data in records.items():
            _keep_longer(self._run_dir.path / name, data)
        return True

    def _copy_until_the_end(self) -> None:
        while not self._is_ending.wait(_LOOK_EVERY_S):
            self._copy_or_say()

    def _copy_or_say(self) -> None:
        """A mirror that does not answer never stops a training; it is tried again."""
        try:
            self._copy()
            self._last_problem = ""
        except StorageError as error:
            if str(error) != self._last_problem:
                self._last_problem = str(error)
                self._say(f"{error} It is tried again; until then a lost node costs more steps.")

    def _copy(self) -> None:
        steps = self._steps()
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
            if (records := self._set_aside(step)) is None:
                return
            self._mirrored[step] = (identity, self._mirror.put(step, self._staging / str(step), records))
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
        if earlier is not None:
            self._mirror.drop(earlier[1])

    def _set_aside(self, step: int) -> dict[str, Path] | None:
        """Copies of a checkpoint and its records that nobody changes; None when it has been dropped."""
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
        # After the checkpoint: the metrics know its steps by now.
        records = {name: self._staging / name for name in LINES if (self._run_dir.path / name).exists()}
        for name, copy in records.items():
            shutil.copyfile(self._run_dir.path / name, copy)
        return records

    def _steps(self) -> list[int]:
        directory = self._run_dir.checkpoints
        names = os.listdir(directory) if directory.is_dir() else []
        return sorted(int(name) for name in names if name.isdecimal())


def _identity(checkpoint: Path) -> _Identity | None:
    try:
        status = checkpoint.stat()
    except FileNotFoundError:
        return None  # dropped by the engine
    return status.st_ino, status.st_mtime_ns


def _keep_longer(path: Path, data: bytes) -> None:
    """Both begin with the same lines; whichever was copied later has more of them."""
    if not path.exists() or path.stat().st_size < len(data):
        path.write_bytes(data)
