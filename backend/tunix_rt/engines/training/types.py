"""RunManifest, RunEnvironment, metrics and event lines: the files of a run.

These types are the lines of `metrics.jsonl` and `events.jsonl` and the content of the JSON files of a run
directory. An unknown figure is omitted; none is ever written as null.
"""

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import Field, JsonValue

from tunix_rt.base.records import Count, Record, Seconds

RunStatus = Literal["queued", "running", "cancelling", "cancelled", "failed", "succeeded"]
RUN_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)

EventKind = Literal[
    "started",
    "resumed",
    "override",
    "device",
    "plan",
    "forced",
    "checkpoint",
    "best",
    "damaged-checkpoint",
    "warning",
    "early-stop",
    "stopping",
    "diverged",
    "exported",
    "finished",
    "failed",
]

OUT_OF_TIME = 7
"""Exit code of a run that stopped at its time limit, with everything saved."""
OUT_OF_TIME_TEXT = "out of time: everything is saved"
"""Its last line, which is searched for in the logs of remote machines."""


class MetricsLine(Record):
    """One logged optimizer step."""

    step: Annotated[int, Field(ge=1)]
    """Steps done, this one included."""
    epoch: float
    """Passes over the rows so far: 1.5 is the middle of the second."""
    loss: float
    """Mean cross-entropy of the trained tokens of this step's batch, before the update."""
    lr: float
    grad_norm: float
    """Norm of the gradient before it was clipped."""
    tokens: Count
    """Tokens of this step's batch, padding left out."""
    trained_tokens: Count
    """Those of them that carry loss."""
    batch_sha256: str | None = None
    """Of the bytes of this step's batch: equal in two runs that were given the same."""
    tokens_per_s: Annotated[float, Field(ge=0)] | None = None
    """Tokens per second since the line before; absent on the first line of a process."""
    mfu: Annotated[float, Field(ge=0)] | None = None
    """Model FLOPs per second over the devices' peak; absent where no peak is known, as on a CPU."""
    peak_memory_bytes: Count | None = None
    """Most memory that one device has used so far; on a CPU, the process."""
    time: datetime


class ValidationLine(Record):
    """One validation, after `step` steps."""

    step: Count
    epoch: float
    validation_loss: float
    """Mean cross-entropy of the trained tokens of the validation batches."""
    validation_tokens: Count
    """Tokens that carry loss in them."""
    time: datetime


class RunEvent(Record):
    """Something that happened to a run."""

    sequence: Count
    """Counts the events of a run from 0, over every resume."""
    time: datetime
    kind: EventKind
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict)


class RunEnvironment(Record):
    """On what a run ran."""

    python: str
    platform: str
    """Operating system, release and machine."""
    num_cpus: int
    packages: dict[str, str]
    """Versions of what decides the numbers."""
    variables: dict[str, str]
    """Environment variables that change what the compiler does."""
    engine: str
    device: str
    """The choice and its reason, in words."""
    devices: tuple[str, ...]
    """Every device, by its name."""
    device_memory_bytes: Count | None = None
    """What one device offers."""
    driver: str | None = None
    commit: str | None = None
    """Of the code, when it runs from a git checkout."""
    is_dirty: bool | None = None
    """Whether that checkout has uncommitted changes; those of the package are in `code.diff`."""
    code_sha256: str | None = None
    """Of the package's Python files: the same in a checkout and in a wheel."""
    installed: dict[str, str] | None = None
    """Every installed distribution with its version: the lock."""


class RunFailure(Record):
    """Why a run has no result."""

    code: str
    detail: str
    next_step: str


class RunFigures(Record):
    """The figures a run ends with."""

    num_steps: Count
    """Steps that the weights have behind them."""
    num_planned_steps: Count
    num_examples: Count
    num_dropped_examples: Count
    fill_ratio: float
    final_loss: float | None = None
    validation_loss: float | None = None
    """Of the last validation."""
    best_validation_loss: float | None = None
    best_step: Count | None = None
    exported_step: Count | None = None
    """Whose weights are in `model/`."""
    tokens_per_s: float | None = None
    """Of this process, the first line left out: it holds the warm-up."""
    mfu: float | None = None
    planned_memory_bytes: Count | None = None
    """What the compiled step needs on one device."""
    peak_memory_bytes: Count | None = None
    """What was used at most, before a resume too."""
    peak_memory_of: Literal["device", "process"] | None = None
    """Whose use that is. On a CPU it is the whole process: Python, JAX and its compiler are in it."""


class RunManifest(Record):
    """The last file of a run: with it the directory is complete, whatever the outcome."""

    manifest_version: Literal["1"] = "1"
    run_id: str
    status: RunStatus
    exit_code: int
    engine: str
    tunix_rt_version: str
    recipe: str | None = None
    """Name of the recipe's file, without its ending."""
    model: str
    dataset: str
    dataset_hash: str
    mode: str
    is_forced: bool
    """Whether the run was forced although its plan does not fit."""
    started_at: datetime
    """Of this process; earlier ones are in events.jsonl."""
    finished_at: datetime
    durations_s: dict[str, Seconds]
    figures: RunFigures | None = None
    failure: RunFailure | None = None
    files: dict[str, str]
    """SHA-256 of every other file of the run, by its path."""


RUN_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
