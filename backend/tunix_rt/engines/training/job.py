"""TrainingJob, TrainingResult and the Engine protocol; groups of processes that train together."""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunFigures
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.traces.types import StoredTrace

LATEST: Literal["latest"] = "latest"
ResumePoint = int | Literal["latest"]
"""The step of a checkpoint, or the newest one if there is any."""


@dataclass(frozen=True)
class Rows:
    """The rows of one split; each call of `read` streams them again."""

    split: str
    read: Callable[[], Iterator[StoredTrace]]


@dataclass(frozen=True)
class TrainingData:
    """The training and validation rows."""

    name: str
    """Key of the dataset, or name of the file."""
    content_hash: str
    train: Rows
    validation: Rows | None
    """None when the recipe never validates."""


@dataclass(frozen=True)
class ProcessGroup:
    """This process as one of several that train together, each on its own devices."""

    coordinator: str
    """`host:port` of process 0."""
    num_processes: int
    process_id: int
    """From 0."""


@dataclass(frozen=True)
class TrainingJob:
    """Everything that an engine needs to run a recipe."""

    resolved: ResolvedRecipe
    data: TrainingData
    run_dir: RunDir
    device: DeviceRequest = DeviceRequest()
    resume_from: ResumePoint | None = None
    """None: a new run in an empty directory."""
    checkpoint_dir: Path | None = None
    """The directory of the checkpoints. None: inside the run directory."""
    processes: ProcessGroup | None = None
    """None: this process trains alone."""
    is_forced: bool = False
    """Run even if the plan does not fit."""
    stop_after_s: float | None = None
    """Stop with a checkpoint after this time. None: train to the end."""
    recipe_name: str | None = None
    """Stem of the recipe's file name."""
    engine_choice: str | None = None
    """The engine and why it was chosen; the first line of the log."""
    initial_adapters: Path | None = None
    """A directory in PEFT's layout with the initial LoRA adapters, so that two engines can start from equal
    ones. None: random adapters."""

    @property
    def checkpoints(self) -> Path:
        """The directory of the checkpoints."""
        return self.checkpoint_dir or self.run_dir.checkpoints


@dataclass(frozen=True)
class TrainingResult:
    """The result of a run that did not fail."""

    figures: RunFigures
    stop_signal: int | None = None
    """The signal that stopped the run, with everything saved; None if none did."""
    is_out_of_time: bool = False
    """Whether `stop_after_s` stopped the run, with everything saved."""


class Engine(Protocol):
    """A training engine. It writes through `records` and raises errors of `base.errors`."""

    @property
    def name(self) -> str:
        """The name in the manifest."""

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to its time limit."""


DEFAULT_TIMEOUT_S = 300
_TORCHRUN_KEYS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def processes_of_torchrun(environ: Mapping[str, str]) -> ProcessGroup | None:
    """The process group that torchrun or accelerate describes; None when this process trains alone.

    Example:
        MASTER_ADDR=10.0.0.2 MASTER_PORT=29500 RANK=1 WORLD_SIZE=4 -> ProcessGroup("10.0.0.2:29500", 4, 1)
    """
    if any(key not in environ for key in _TORCHRUN_KEYS) or environ["WORLD_SIZE"] == "1":
        return None
    address = f"{environ['MASTER_ADDR']}:{environ['MASTER_PORT']}"
    return ProcessGroup(address, int(environ["WORLD_SIZE"]), int(environ["RANK"]))


def coordinator_address(processes: ProcessGroup) -> tuple[str, int]:
    """Host and port of process 0.

    Raises:
        InvalidInputError: The address is invalid, or the process id is not below the number of processes.
    """
    host, _, port = processes.coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidInputError(
            f"The coordinator {processes.coordinator!r} is not an address.",
            next_step="Give the host and port of process 0, e.g. 10.0.0.2:8476.",
        )
    if not 0 <= processes.process_id < processes.num_processes:
        raise InvalidInputError(
            f"Process {processes.process_id} does not exist in a run of {processes.num_processes} processes.",
            next_step=f"Number the processes from 0 to {processes.num_processes - 1}.",
        )
    return host, int(port)


def wait_for_process_0(processes: ProcessGroup, timeout_s: int) -> None:
    """Wait until process 0 listens; process 0 itself returns at once.

    Raises:
        DeviceError: Nothing listens at its address within the timeout.
    """
    host, port = coordinator_address(processes)
    deadline = time.monotonic() + timeout_s
    while processes.process_id > 0:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise DeviceError(
                    f"Process 0 could not be reached at {host}:{port} within {timeout_s} s ({error}).",
                    next_step="Start process 0, and check its address and the firewall between the machines.",
                ) from error
            time.sleep(0.2)
