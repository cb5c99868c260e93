"""What an engine takes and gives: TrainingJob, TrainingResult, Engine; processes that train together."""

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
    """The rows of one split, streamed as often as they are asked for."""

    split: str
    read: Callable[[], Iterator[StoredTrace]]


@dataclass(frozen=True)
class TrainingData:
    """What is trained and validated on."""

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
    """Everything that an engine must know to run a recipe."""

    resolved: ResolvedRecipe
    data: TrainingData
    run_dir: RunDir
    device: DeviceRequest = DeviceRequest()
    resume_from: ResumePoint | None = None
    """None: from the start, in a directory that is empty."""
    checkpoint_dir: Path | None = None
    """Where checkpoints are kept. None: inside the run directory."""
    processes: ProcessGroup | None = None
    """None: this process trains alone."""
    is_forced: bool = False
    """Run although the plan says that it does not fit."""
    stop_after_s: float | None = None
    """Stop in peace, with a checkpoint, after this time. None: train to the end."""
    recipe_name: str | None = None
    """Of the recipe's file, without its ending."""
    engine_choice: str | None = None
    """Which engine runs, and why: the first line of the log."""
    initial_adapters: Path | None = None
    """A directory in PEFT's layout that LoRA starts from, so that two engines start from the same. None: from
    random ones."""

    @property
    def checkpoints(self) -> Path:
        """Where this run's checkpoints are kept."""
        return self.checkpoint_dir or self.run_dir.checkpoints


@dataclass(frozen=True)
class TrainingResult:
    """How a run that did not fail ended."""

    figures: RunFigures
    stop_signal: int | None = None
    """The signal that ended it early, with everything saved. None: there was none."""
    is_out_of_time: bool = False
    """Whether `stop_after_s` ended it early, with everything saved."""


class Engine(Protocol):
    """One way to train. An engine writes through `records` and raises errors of `core.errors`."""

    @property
    def name(self) -> str:
        """As the manifest names it."""

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to the end of its time."""


DEFAULT_TIMEOUT_S = 300
_TORCHRUN_KEYS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def processes_of_torchrun(environ: Mapping[str, str]) -> ProcessGroup | None:
    """What torchrun, or accelerate, says about this process; None when it trains alone.

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
        InvalidInputError: The address is none, or the process does not exist in a run of this size.
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
    """Return when process 0 listens; process 0 itself has nobody to wait for.

    Raises:
        DeviceError: Nothing listens at its address.
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
