"""Checkpoints with checksums.

    checkpoints/<step>/state.safetensors  every tensor of the state, gathered, for any number of processes
    checkpoints/<step>/record.json        the identity of the run, and a checksum of every tensor

A directory named after a step is always complete: it is written under another name and then renamed. The
checksums detect bits that change later.
"""

import re
import shutil
import zlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.atomic import (
    FULL_DISK_ERRORS,
    storage_errors,
    write_directory_atomically,
    write_json_atomically,
)
from tunix_rt.engines.torch.distributed import ALONE, Layout
from tunix_rt.engines.torch.weights import bytes_of, lazy_tensor
from tunix_rt.engines.training.checkpointing import (
    DISK_IS_FULL,
    RECORD_FILE,
    CheckpointRecord,
    DamagedError,
    Restored,
    checkpoint_write_error,
    require_disk_space,
)
from tunix_rt.engines.training.preparation import RunIdentity
from tunix_rt.engines.weights.safetensors import write_tensor_file

State = Mapping[str, Tensor]

DAMAGED_DIR = "damaged"
STATE_FILE = "state.safetensors"
_DROPPED_SUFFIX = ".dropped"
_LEFTOVER = re.compile(rf"\d+(\.tmp-.*|{re.escape(_DROPPED_SUFFIX)})")


class Checkpoints:
    """The checkpoints of one run. Every process reads them; the first one writes."""

    def __init__(self, directory: Path, *, num_newest: int, layout: Layout = ALONE) -> None:
        """Open or create the directory; remove what a killed process left unfinished."""
        self.directory = directory.absolute()
        self._num_newest = num_newest
        self._layout = layout
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._writing: Future[None] | None = None
        if layout.is_first:
            with storage_errors("making the checkpoint directory"):
                self.directory.mkdir(parents=True, exist_ok=True)
                for path in self.directory.iterdir():
                    if _LEFTOVER.fullmatch(path.name):
                        shutil.rmtree(path, ignore_errors=True)
        layout.wait()

    def steps(self) -> list[int]:
        """Steps that have a checkpoint, ascending."""
        return sorted(int(path.name) for path in self.directory.iterdir() if path.name.isdecimal())

    def save(self, state: State, record: CheckpointRecord) -> None:
        """Copy the state to the host and write it in the background.

        Args:
            state: The whole state, the same on every process.
            record: The record without checksums, which are computed when it is written.

        Raises:
            StorageError: This checkpoint or the previous one could not be written. Earlier ones are intact.
        """
        self.wait()
        if not self._layout.is_first:
            return
        require_disk_space(self.directory, sum(tensor.nbytes for tensor in state.values()))
        # The next step changes the tensors in place.
        on_host = {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}
        self._writing = self._writer.submit(self._write, on_host, record)

    def wait(self) -> None:
        """Wait until all checkpoints are on disk. Raises StorageError if one could not be written."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()
        self._layout.wait()

    def close(self) -> None:
        """Finish the pending write, ignoring errors."""
        self._writer.shutdown()
        if self._writing is not None:
            with suppress(StorageError):
                self._writing.result()

    def read(self, step: int, identity: RunIdentity) -> Restored[State]:
        """Read the checkpoint of `step` and verify the checksum of every tensor.

        Raises:
            ConflictError: The checkpoint belongs to another run.
            DamagedError: The checkpoint is damaged and must not be used.
        """
        try:
            content = (self.directory / str(step) / RECORD_FILE).read_bytes()
            record = CheckpointRecord.model_validate_json(content)
        except (ValidationError, OSError) as error:
            raise DamagedError("its record cannot be read") from error
        record.identity.require_same(identity)
        try:
            state = load_file(self.directory / str(step) / STATE_FILE)
        except (SafetensorError, OSError) as error:
            raise DamagedError(str(error).splitlines()[0]) from error
        if record.checksums.keys() != state.keys():
            raise DamagedError("it does not hold the tensors that were saved")
        changed = [name for name, tensor in state.items() if record.checksums[name] != _checksum(tensor)]
        if changed:
            raise DamagedError(f"{changed[0]} is not what was saved")
        return Restored(state, record)

    def move_aside(self, step: int) -> None:
        """Move a damaged checkpoint away, so that its step can be saved again."""
        # Wait until every process has read it.
        self._layout.wait()
        if self._layout.is_first:
            damaged = self.directory / DAMAGED_DIR
            damaged.mkdir(exist_ok=True)
            shutil.rmtree(damaged / str(step), ignore_errors=True)
            (self.directory / str(step)).rename(damaged / str(step))
        self._layout.wait()

    def delete_after(self, step: int) -> None:
        """Delete the checkpoints after `step`; these steps will be repeated."""
        self._layout.wait()
        if self._layout.is_first:
            self._drop([later for later in self.steps() if later > step])
        self._layout.wait()

    def _write(self, state: State, record: CheckpointRecord) -> None:
        with_checksums = record.model_copy(
            update={"checksums": {name: _checksum(tensor) for name, tensor in state.items()}}
        )
        try:
            with write_directory_atomically(self.directory / str(record.step), what="writing it") as target:
                write_tensor_file(target / STATE_FILE, [lazy_tensor(*named) for named in state.items()])
                write_json_atomically(target / RECORD_FILE, with_checksums.model_dump(mode="json"))
        except StorageError as error:
            is_full = getattr(error.__cause__, "errno", None) in FULL_DISK_ERRORS
            problem = DISK_IS_FULL if is_full else error.detail.rstrip(".")
            raise checkpoint_write_error(self.directory, problem) from error
        kept = {*self.steps()[-self._num_newest :], record.validation.best_step}
        self._drop([step for step in self.steps() if step not in kept])

    def _drop(self, steps: list[int]) -> None:
        for step in steps:
            # Renamed first, so that a process killed while deleting leaves no partial checkpoint.
            dropped = self.directory / f"{step}{_DROPPED_SUFFIX}"
            (self.directory / str(step)).rename(dropped)
            shutil.rmtree(dropped, ignore_errors=True)


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(bytes_of(tensor).data)
