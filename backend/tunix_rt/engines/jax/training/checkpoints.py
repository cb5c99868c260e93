"""Orbax checkpoints with checksums.

Such a complaint says nothing, and would stand in the middle of the training that goes on from an earlier
checkpoint.

checkpoints/<step>/state/     every array of the state, in any number of parts: it loads on any mesh
checkpoints/<step>/record/    what it belongs to, and a checksum of every array

Orbax notices a file that is cut off, but not one whose bits have changed. The checksums do. They are computed
where the arrays live and do not depend on how these are split over devices.
"""

import inspect
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Any

import absl.logging
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax import Array
from jax.experimental import multihost_utils
from orbax.checkpoint.checkpoint_managers import PreservationContext, PreservationPolicy
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, StorageError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.engines.jax.devices import is_out_of_memory
from tunix_rt.engines.jax.training.state import TrainState
from tunix_rt.engines.training.checkpointing import (
    DISK_IS_FULL,
    CheckpointRecord,
    DamagedError,
    Restored,
    checkpoint_write_error,
    require_disk_space,
)
from tunix_rt.engines.training.preparation import RunIdentity

_READ = "_read_array_index_and_device_put"
_CLOSED_LOOP = "Event loop is closed"


def silence_abandoned_reads() -> None:
    """From here on Python reports what it cannot raise as before, but for those complaints."""
    report = sys.unraisablehook
    if getattr(report, "leaves_out_abandoned_reads", False):
        return

    def report_others(unraisable: "sys.UnraisableHookArgs") -> None:
        if not _is_of_an_abandoned_read(unraisable):
            report(unraisable)

    report_others.leaves_out_abandoned_reads = True  # type: ignore[attr-defined]
    sys.unraisablehook = report_others


def _is_of_an_abandoned_read(unraisable: "sys.UnraisableHookArgs") -> bool:
    source, error = unraisable.object, unraisable.exc_value
    if inspect.iscoroutine(source):
        return source.__name__ == _READ
    # What the threads of TensorStore meet when they bring what nobody waits for any more.
    return source is None and isinstance(error, RuntimeError) and str(error) == _CLOSED_LOOP


_WORDS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32}


@jax.jit
def tree_checksums(tree: Any) -> Array:
    """One 32-bit checksum for each array of a tree, in the order of its leaves.

    Every element is mixed with its position, and the results are added up modulo 2**32: an addition of
    integers gives the same sum in any order.
    """
    return jnp.stack([_checksum(leaf) for leaf in jax.tree.leaves(tree)])


def _checksum(array: Array) -> Array:
    words = jax.lax.bitcast_convert_type(array, _WORDS[array.dtype.itemsize]).astype(jnp.uint32)
    return _mixed(words ^ _mixed(_positions(array.shape))).sum(dtype=jnp.uint32)


def _positions(shape: tuple[int, ...]) -> Array:
    """[2, 3] -> [[0, 1, 2], [3, 4, 5]], without reshaping, which would gather what is split."""
    positions = jnp.zeros(shape, jnp.uint32)
    stride = 1
    for axis in reversed(range(len(shape))):
        positions += jax.lax.broadcasted_iota(jnp.uint32, shape, axis) * jnp.uint32(stride % 2**32)
        stride *= shape[axis]
    return positions


def _mixed(words: Array) -> Array:
    """The finaliser of MurmurHash3: one to one, and each bit in depends on every bit out."""
    words = (words ^ (words >> 16)) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> 16)


DAMAGED_DIR = "damaged"
_DROPPED_DIR = "dropped"
"""Where Orbax moves what it no longer keeps. In place it would delete file by file: whoever copies or resumes
meanwhile would take the rest for a whole checkpoint."""
_FULL_DISK = ("No space left", "ENOSPC", "File too large", "EFBIG", "Disk quota", "EDQUOT")


@dataclass
class _NewestAndBest(PreservationPolicy):  # type: ignore[misc]  # Orbax is not typed
    """Keep the newest checkpoints, and the one with the best validation loss."""

    num_newest: int
    best_step: int | None = None

    def should_preserve(self, checkpoints: Sequence[Any], *, context: PreservationContext) -> Sequence[bool]:
        newest = {checkpoint.step for checkpoint in checkpoints[-self.num_newest :]}
        return [checkpoint.step in newest | {self.best_step} for checkpoint in checkpoints]


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, directory: Path, abstract: TrainState, *, num_newest: int) -> None:
        """Take or make the directory.

        Args:
            directory: Where they are kept.
            abstract: The shapes and places of the state that is saved and read.
            num_newest: How many are kept, besides the one with the best validation loss.
        """
        # Orbax logs the traceback of what it raises, several times. What it raises is explained here.
        absl.logging.set_verbosity(absl.logging.FATAL)
        silence_abandoned_reads()
        self._directory = directory.absolute()
        _refuse_patterns(self._directory)
        self._abstract = abstract
        with storage_errors("making the checkpoint directory"):
            self.directory.mkdir(parents=True, exist_ok=True)
        self._policy = _NewestAndBest(num_newest)
        options = ocp.CheckpointManagerOptions(
            preservation_policy=self._policy, cleanup_tmp_directories=True, todelete_subdir=_DROPPED_DIR
        )
        self._manager = ocp.CheckpointManager(self.directory, options=options)
        self._remove_dropped()

    @property
    def directory(self) -> Path:
        """Where they are."""
        return self._directory

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, ascending."""
        return sorted(self._manager.all_steps())

    def save(self, state: TrainState, record: CheckpointRecord) -> None:
        """Copy the state off the devices and write it while the training goes on.

        Raises:
            StorageError: This one, or the one before it, cannot be written. Earlier ones are whole.
        """
        self._policy.best_step = record.validation.best_step
        items = ocp.args.Composite(
            state=ocp.args.StandardSave(_named_leaves(state)),
            record=ocp.args.JsonSave(record.model_dump(mode="json")),
        )
        self.wait()
        require_disk_space(self.directory, _num_bytes(state))
        with _writing(self.directory):
            self._manager.save(record.step, args=items, force=True)

    def wait(self) -> None:
        """Wait until everything is on the disk. Raises StorageError when it cannot get there."""
        with _writing(self.directory):
            self._manager.wait_until_finished()
        self._remove_dropped()

    def close(self) -> None:
        """Let go of the directory. What was not waited for may not get there."""
        with suppress(StorageError), _writing(self.directory):
            self._manager.close()

    def delete_after(self, step: int) -> None:
        """Delete the checkpoints of steps that will be done again."""
        for later in self.steps():
            if later > step:
                self._manager.delete(later)
        self._remove_dropped()

    def read(self, step: int, identity: RunIdentity) -> Restored[TrainState]:
        """Read one that is there, and compare every array with its checksum.

        Raises:
            ConflictError: It is of another training.
            DamagedError: It must not be used.
        """
        record = self._read_record(step)
        record.identity.require_same(identity)
        target = ocp.args.Composite(state=ocp.args.StandardRestore(_named_leaves(self._abstract)))
        leaves = self._reading(lambda: self._manager.restore(step, args=target)["state"])
        tree = jax.tree.structure(self._abstract)
        state = jax.tree.unflatten(tree, [leaves[name] for name in _names(self._abstract)])
        wrong = [name for name, value in checksums(state).items() if record.checksums.get(name) != value]
        if wrong:
            raise DamagedError(f"{wrong[0]} is not what was saved")
        return Restored(state, record)

    def move_aside(self, step: int) -> None:
        """Keep a damaged one elsewhere, so that its step can be saved again."""
        aside = self.directory / DAMAGED_DIR
        if jax.process_index() == 0:
            aside.mkdir(exist_ok=True)
            shutil.rmtree(aside / str(step), ignore_errors=True)
            (self.directory / str(step)).rename(aside / str(step))
        multihost_utils.sync_global_devices(f"moved {step} aside")
        self._manager.reload()

    def _remove_dropped(self) -> None:
        if jax.process_index() == 0:
            shutil.rmtree(self.directory / _DROPPED_DIR, ignore_errors=True)

    def _read_record(self, step: int) -> CheckpointRecord:
        target = ocp.args.Composite(record=ocp.args.JsonRestore())
        values = self._reading(lambda: self._manager.restore(step, args=target)["record"])
        try:
            return CheckpointRecord.model_validate(values)
        except ValidationError as error:
            raise DamagedError("its record cannot be read") from error

    def _reading(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        # Orbax raises a bare Exception, a KeyError, a ValueError or a JSON error for what it cannot read.
        except Exception as error:
            if is_out_of_memory(error):
                raise
            raise DamagedError(_first_line(error)) from error


def checksums(state: TrainState) -> dict[str, int]:
    """One number for each array of the state, by its name; the same on every mesh."""
    values = np.asarray(tree_checksums(state))
    return dict(zip(_names(state), map(int, values), strict=True))


def _names(tree: Any) -> list[str]:
    paths, _ = zip(*jax.tree_util.tree_leaves_with_path(tree), strict=True)
    return [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]


def _refuse_patterns(directory: Path) -> None:
    """Orbax looks for its own files by a pattern: below such a path it would find none and save nothing."""
    if has_magic(str(directory)):
        raise InvalidInputError(
            f"The JAX engine cannot keep checkpoints in {directory}: the path holds *, ? or [.",
            next_step="Choose a directory without these characters.",
        )


def _named_leaves(tree: Any) -> dict[str, Any]:
    return dict(zip(_names(tree), jax.tree.leaves(tree), strict=True))


def _num_bytes(state: TrainState) -> int:
    return sum(shard.data.nbytes for leaf in jax.tree.leaves(state) for shard in leaf.addressable_shards)


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Explain what Orbax raises when a checkpoint cannot be written; what it began is removed."""
    try:
        yield
    # A full disk comes as an OSError, a ValueError or a bare Exception, depending on which file it hit.
    except Exception as error:
        if is_out_of_memory(error):
            raise
        for unfinished in directory.glob("*orbax-checkpoint-tmp*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        is_full = any(sign in str(error) for sign in _FULL_DISK)
        raise checkpoint_write_error(directory, DISK_IS_FULL if is_full else _first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).split(". See full")[0].split("\n")[0]
