"""Orbax checkpoints with checksums.

    checkpoints/<step>/state/     every array of the state, in any number of shards: it loads on any mesh
    checkpoints/<step>/record/    the identity of the run, and a checksum of every array

Orbax detects a truncated file, but not changed bits. The checksums detect both. They are computed on the
devices and do not depend on the sharding of the arrays.
"""

import inspect
import shutil
import sys
from collections.abc import Iterator, Sequence
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

DAMAGED_DIR = "damaged"
_DROPPED_DIR = "dropped"
"""Where Orbax moves expired checkpoints. It would otherwise delete them file by file in place, and a process
that copies or resumes meanwhile would take the remaining files for a complete checkpoint."""
_FULL_DISK_MESSAGES = ("No space left", "ENOSPC", "File too large", "EFBIG", "Disk quota", "EDQUOT")


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
        """Open or create the directory.

        Args:
            directory: Directory of the checkpoints.
            abstract: Shapes and shardings of the state that is saved and restored.
            num_newest: How many checkpoints to keep, besides the one with the best validation loss.
        """
        # Orbax logs the traceback of each error several times. This class reports its errors.
        absl.logging.set_verbosity(absl.logging.FATAL)
        ignore_cancelled_reads()
        self.directory = directory.absolute()
        if has_magic(str(self.directory)):
            # Orbax finds its own files by a glob pattern: below such a path it would find and save none.
            raise InvalidInputError(
                f"The JAX engine cannot keep checkpoints in {self.directory}: the path holds *, ? or [.",
                next_step="Choose a directory without these characters.",
            )
        self._abstract = abstract
        with storage_errors("making the checkpoint directory"):
            self.directory.mkdir(parents=True, exist_ok=True)
        self._policy = _NewestAndBest(num_newest)
        options = ocp.CheckpointManagerOptions(
            preservation_policy=self._policy, cleanup_tmp_directories=True, todelete_subdir=_DROPPED_DIR
        )
        self._manager = ocp.CheckpointManager(self.directory, options=options)
        self._remove_dropped()

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, ascending."""
        return sorted(self._manager.all_steps())

    def save(self, state: TrainState, record: CheckpointRecord) -> None:
        """Copy the state to the host and write it in the background.

        Raises:
            StorageError: This checkpoint or the previous one could not be written. Earlier ones are intact.
        """
        self._policy.best_step = record.validation.best_step
        items = ocp.args.Composite(
            state=ocp.args.StandardSave(_leaves_by_name(state)),
            record=ocp.args.JsonSave(record.model_dump(mode="json")),
        )
        self.wait()
        shards = (shard for leaf in jax.tree.leaves(state) for shard in leaf.addressable_shards)
        require_disk_space(self.directory, sum(shard.data.nbytes for shard in shards))
        with _explain_write_errors(self.directory):
            self._manager.save(record.step, args=items, force=True)

    def wait(self) -> None:
        """Wait until all checkpoints are on disk. Raises StorageError if one could not be written."""
        with _explain_write_errors(self.directory):
            self._manager.wait_until_finished()
        self._remove_dropped()

    def close(self) -> None:
        """Close the manager. A checkpoint that was not waited for may be lost."""
        with suppress(StorageError), _explain_write_errors(self.directory):
            self._manager.close()

    def delete_after(self, step: int) -> None:
        """Delete the checkpoints after `step`; these steps will be repeated."""
        for later in self.steps():
            if later > step:
                self._manager.delete(later)
        self._remove_dropped()

    def read(self, step: int, identity: RunIdentity) -> Restored[TrainState]:
        """Restore the checkpoint of `step` and verify the checksum of every array.

        Raises:
            ConflictError: The checkpoint belongs to another run.
            DamagedError: The checkpoint is damaged and must not be used.
        """
        try:
            record = CheckpointRecord.model_validate(self._read(step, record=ocp.args.JsonRestore()))
        except ValidationError as error:
            raise DamagedError("its record cannot be read") from error
        record.identity.require_same(identity)
        leaves = self._read(step, state=ocp.args.StandardRestore(_leaves_by_name(self._abstract)))
        tree = jax.tree.structure(self._abstract)
        state = jax.tree.unflatten(tree, [leaves[name] for name in _names(self._abstract)])
        changed = [name for name, value in checksums(state).items() if record.checksums.get(name) != value]
        if changed:
            raise DamagedError(f"{changed[0]} is not what was saved")
        return Restored(state, record)

    def move_aside(self, step: int) -> None:
        """Move a damaged checkpoint away, so that its step can be saved again."""
        damaged = self.directory / DAMAGED_DIR
        if jax.process_index() == 0:
            damaged.mkdir(exist_ok=True)
            shutil.rmtree(damaged / str(step), ignore_errors=True)
            (self.directory / str(step)).rename(damaged / str(step))
        multihost_utils.sync_global_devices(f"moved {step} aside")
        self._manager.reload()

    def _remove_dropped(self) -> None:
        if jax.process_index() == 0:
            shutil.rmtree(self.directory / _DROPPED_DIR, ignore_errors=True)

    def _read(self, step: int, **item: Any) -> Any:
        """One item of a checkpoint, its record or its state."""
        [name] = item
        try:
            return self._manager.restore(step, args=ocp.args.Composite(**item))[name]
        # For unreadable data Orbax raises a bare Exception, a KeyError, a ValueError or a JSON error.
        except Exception as error:
            if is_out_of_memory(error):
                raise
            raise DamagedError(_first_line(error)) from error


def checksums(state: TrainState) -> dict[str, int]:
    """Checksum of every array of the state by its name; the same on every mesh."""
    values = np.asarray(tree_checksums(state))
    return dict(zip(_names(state), map(int, values), strict=True))


def _names(tree: Any) -> list[str]:
    paths, _ = zip(*jax.tree_util.tree_leaves_with_path(tree), strict=True)
    return [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]


def _leaves_by_name(tree: Any) -> dict[str, Any]:
    return dict(zip(_names(tree), jax.tree.leaves(tree), strict=True))


@contextmanager
def _explain_write_errors(directory: Path) -> Iterator[None]:
    """Turn Orbax's write errors into StorageError, and remove the unfinished checkpoint."""
    try:
        yield
    # A full disk raises an OSError, a ValueError or a bare Exception, depending on the file that hit it.
    except Exception as error:
        if is_out_of_memory(error):
            raise
        for unfinished in directory.glob("*orbax-checkpoint-tmp*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        is_full = any(message in str(error) for message in _FULL_DISK_MESSAGES)
        raise checkpoint_write_error(directory, DISK_IS_FULL if is_full else _first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).split(". See full")[0].split("\n")[0]


_UINT_BY_SIZE = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32}


@jax.jit
def tree_checksums(tree: Any) -> Array:
    """One 32-bit checksum for each array of a tree, in the order of its leaves.

    Every element is hashed with its position, and the hashes are added modulo 2**32. A sum of integers does
    not depend on the order, so the checksum is the same for every sharding.
    """
    return jnp.stack([_checksum(leaf) for leaf in jax.tree.leaves(tree)])


def _checksum(array: Array) -> Array:
    # [2, 3] -> [[0, 1, 2], [3, 4, 5]]. Reshaping an arange would gather sharded arrays.
    positions = jnp.zeros(array.shape, jnp.uint32)
    stride = 1
    for axis in reversed(range(array.ndim)):
        positions += jax.lax.broadcasted_iota(jnp.uint32, array.shape, axis) * jnp.uint32(stride % 2**32)
        stride *= array.shape[axis]
    words = jax.lax.bitcast_convert_type(array, _UINT_BY_SIZE[array.dtype.itemsize]).astype(jnp.uint32)
    return _mix(words ^ _mix(positions)).sum(dtype=jnp.uint32)


def _mix(words: Array) -> Array:
    """The finaliser of MurmurHash3: a bijection in which every input bit affects every output bit."""
    words = (words ^ (words >> 16)) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> 13)) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> 16)


# When one of Orbax's concurrent reads fails, Orbax raises that error and abandons the other reads. Each of
# them raises again where nobody can catch it: when its coroutine is collected, or when a TensorStore thread
# delivers to an event loop that is closed. Python reports such errors through `sys.unraisablehook`. They
# carry no information, and would be printed in the middle of the training that continues from an earlier
# checkpoint. `_READ_COROUTINE` is a private name of Orbax.
_READ_COROUTINE = "_read_array_index_and_device_put"
_CLOSED_LOOP_MESSAGE = "Event loop is closed"


def ignore_cancelled_reads() -> None:
    """Install an unraisable hook that drops errors of abandoned Orbax reads and passes on all others."""
    report = sys.unraisablehook
    if getattr(report, "ignores_cancelled_reads", False):
        return

    def report_unless_cancelled_read(unraisable: "sys.UnraisableHookArgs") -> None:
        source, error = unraisable.object, unraisable.exc_value
        if inspect.iscoroutine(source):
            is_cancelled = source.__name__ == _READ_COROUTINE
        else:
            is_closed = isinstance(error, RuntimeError) and str(error) == _CLOSED_LOOP_MESSAGE
            is_cancelled = source is None and is_closed
        if not is_cancelled:
            report(unraisable)

    report_unless_cancelled_read.ignores_cancelled_reads = True  # type: ignore[attr-defined]
    sys.unraisablehook = report_unless_cancelled_read
