"""What every engine takes and gives. The run directory is where all of them write."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tunix_rt.core.run_record import RunFigures
from tunix_rt.engines.records import RunRecords
from tunix_rt.files.run_dirs import RunDir
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.traces.types import StoredTrace

DeviceName = Literal["auto", "cpu", "gpu", "tpu"]
EngineName = Literal["jax", "torch"]

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
class DeviceRequest:
    """Which device the run should use."""

    name: DeviceName = "auto"
    index: int | None = None
    """One device of several. None: all of them."""


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
