"""Run, request, states, leases, workers, live messages.

Engine events and metrics travel as the lines that `events.jsonl` and `metrics.jsonl` have, service events as
`ServiceEvent`; the others are here.

queued      a worker takes it -> running; cancelled at once; failed when it can never be taken
running     its end -> succeeded or failed; asked to stop -> cancelling; paused, retried or lost -> queued
cancelling  -> cancelled, unless its end comes first
cancelled   resumed -> queued, from the last checkpoint
failed      resumed -> queued, from the last checkpoint
"""

import re
from datetime import datetime
from typing import Annotated, Generic, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.errors import ConflictError, InvalidInputError
from tunix_rt.base.records import Count, Record, Word
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import RUN_ID_PATTERN, RunFailure, RunFigures, RunStatus

_Item = TypeVar("_Item")
FIRST_WAIT_S = 2.0
GROWTH = 4.0
BACKOFF_CAP_S = 300.0
"""No retry waits longer. A time further ahead was written by a clock that was wrong."""


def backoff_s(num_failures: int) -> float:
    """Seconds to wait after this many failures in a row.

    Example:
        1 -> 2.0, 2 -> 8.0, 3 -> 32.0
    """
    wait_s = FIRST_WAIT_S
    for _ in range(1, num_failures):
        wait_s = min(wait_s * GROWTH, BACKOFF_CAP_S)
    return wait_s


LiveSource = Literal["service", "events", "metrics", "log"]
LiveKind = Literal["service", "event", "metrics", "rewind", "log", "heartbeat", "status"]


class LogChunk(Record):
    """Lines of the output of a run, or a part of a very long one."""

    seq: Count
    """Bytes of the log up to the end of this chunk: resume from there with `since_seq`."""
    stream: Literal["output"] = "output"
    """Standard output and standard error share one log, in order."""
    chunk: str
    """Ends with a newline unless it is partial. Bytes that are not UTF-8 are replaced."""
    is_partial: bool
    """The line continues in the next chunk, or the run ended in the middle of it."""


class Rewind(Record):
    """Lines that were sent are no longer valid: a resumed run writes them again."""

    source: Literal["events", "metrics"]
    step: Count
    """Drop the lines of later steps. 0: drop all of them."""


class Heartbeat(Record):
    """Nothing is new; the connection is alive."""

    seq: Count
    """Bytes of the log sent so far."""


class StatusMessage(Record):
    """The run has ended and everything was sent: the last message."""

    status: RunStatus


Priority = Annotated[int, Field(ge=-1000, le=1000)]
ExecutorName = Literal["local", "ray"]


class RunRequest(BaseModel):
    """A recipe, by name or inline, and how to run it. The body of `POST /api/tunix/runs`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    recipe: str | dict[str, JsonValue]
    """Name of a shipped recipe or of one in the home's `recipes/`, or an inline recipe. Never a path."""
    overrides: tuple[str, ...] = ()
    """`key=value`, as `tunix-rt train --set` takes them."""
    dataset: str | None = None
    """Key of the dataset. Default: the one in the recipe."""
    name: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Part of the run id. Default: the name of the recipe."""
    engine: Literal["auto", "jax", "torch"] = "auto"
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    priority: Priority = 0
    """Higher priorities run first; equal ones in the order of submission."""
    is_held: bool = False
    """Queue it on hold until it is resumed."""
    is_forced: bool = False
    """Run even if the plan says that it does not fit."""
    target: str | None = None
    """The hardware to plan for. Default: this machine, or what `device` implies."""
    eval_set: str | None = None
    """Evaluate the trained model on this eval set."""
    executor: ExecutorName = "local"
    num_smoke_steps: Annotated[int, Field(ge=1)] | None = None
    """Stop after this many steps; nothing else changes."""

    @model_validator(mode="after")
    def _has_a_recipe(self) -> Self:
        if not self.recipe:
            raise ValueError("recipe is empty")
        return self


class PlanRequest(RunRequest):
    """A run, and how to plan it. The body of `POST /api/tunix/plans`."""

    session_seconds: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Time limit of the run, e.g. of a Kaggle session."""
    is_compiled: bool = False
    """Compile for the figures, if this machine has a compiler for the target; slow the first time."""


class RunPreview(Record):
    """A valid request: what it resolves to, and the plan."""

    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    engine_reason: str
    recipe: dict[str, JsonValue]
    """The resolved recipe with `overrides`, as in `recipe.resolved.json`."""
    plan: Plan | None = None
    """Absent if the hardware is unknown; the notes say so."""
    notes: tuple[str, ...] = Field(default=())


RunExecutor = ExecutorName | Literal["direct"]
"""`direct`: an unmanaged run, started with `tunix-rt train` outside the queue; no worker ever takes it."""

ServiceEventKind = Literal[
    "submitted",
    "imported",
    "claimed",
    "started",
    "lease-lost",
    "retry",
    "requeued",
    "paused",
    "resumed",
    "priority",
    "cancel-asked",
    "stopping",
    "killed",
    "evaluating",
    "evaluated",
    "succeeded",
    "failed",
    "cancelled",
    "warning",
]


class Run(Record):
    """One run, without its recipe and its plan."""

    run_id: str
    status: RunStatus
    created_at: datetime
    priority: int
    is_held: bool
    not_before: datetime | None = None
    """A retry waits until then."""
    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    device: str
    executor: RunExecutor
    sweep_id: str | None = None
    num_attempts: Count
    """How often a worker has claimed it."""
    num_failures: Count
    """Infrastructure failures in a row, without progress between them."""
    worker_id: str | None = None
    queued_at: datetime
    started_at: datetime | None = None
    """Of the first attempt."""
    finished_at: datetime | None = None
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


class RunDetail(Run):
    """A run with its request, its resolved recipe and its plan."""

    request: RunRequest
    recipe: dict[str, JsonValue]
    plan: dict[str, JsonValue] | None = None


class ServiceEvent(Record):
    """Something that the queue or a worker did with a run. Engine events are in the run directory."""

    sequence: Count
    """Counts the service events of a run from 0."""
    time: datetime
    kind: ServiceEventKind
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict)


class Lease(Record):
    """A worker's exclusive right to a run, for as long as it sends heartbeats."""

    run_id: str
    token: str
    """Every write of the worker carries it: without the lease nothing can be written."""


class Claim(Record):
    """What a worker gets when it claims a run."""

    lease: Lease
    run: RunDetail


ACTIVE: frozenset[RunStatus] = frozenset({"running", "cancelling"})
"""A worker has it."""
TERMINAL: frozenset[RunStatus] = frozenset({"cancelled", "failed", "succeeded"})
"""It has ended, unless somebody resumes it."""

ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"queued", "cancelling", "failed", "succeeded"}),
    # A run that is asked to stop may have ended or failed before the request arrives.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"queued"}),
    "failed": frozenset({"queued"}),
    "succeeded": frozenset(),
}


def require_transition(run_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a transition that is not in the table above.

    Raises:
        ConflictError: The transition is not allowed.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The run {run_id} is {before}; it cannot become {after}.",
            next_step=f"Show it: tunix-rt runs show {run_id}",
        )


def steps_between(before: RunStatus, after: RunStatus) -> tuple[RunStatus, ...]:
    """The shortest path of transitions, for a run that changed while it was not observed.

    Example:
        running, cancelled -> cancelling, cancelled
    """
    paths: list[tuple[RunStatus, ...]] = [(before,)]
    while paths:
        path = paths.pop(0)
        if path[-1] == after:
            return path[1:]
        paths += [(*path, status) for status in sorted(ALLOWED[path[-1]]) if status not in path]
    raise ConflictError(
        f"A run that is {before} cannot become {after}.", next_step="Submit it as a new run instead."
    )


RunId = Annotated[str, Field(pattern=RUN_ID_PATTERN)]


class NewRun(Record):
    """A run to be queued."""

    run_id: RunId
    request: RunRequest
    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    sweep_id: str | None = None
    recipe: dict[str, JsonValue]
    """The resolved recipe, as in `recipe.resolved.json`."""
    plan: dict[str, JsonValue] | None = None


class UnmanagedStatus(Record):
    """The status of an unmanaged run, read from its directory."""

    status: RunStatus
    finished_at: datetime | None = None
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


class UnmanagedRun(Record):
    """A run that `tunix-rt train` started, outside the queue."""

    new: NewRun
    created_at: datetime
    current: UnmanagedStatus


class RunFilter(Record):
    """A filter of runs: all given conditions must hold; none given means all runs."""

    status: tuple[RunStatus, ...] = ()
    """Any of these; none given means all."""
    dataset: Word | None = None
    mode: Word | None = None
    engine: Word | None = None
    sweep_id: Word | None = None
    model: Word | None = None
    """Part of the name of the model; case is ignored."""
    text: Word | None = None
    """Part of the id, recipe, model or dataset; case is ignored."""


class Page(NamedTuple, Generic[_Item]):
    """A page of runs or tasks, and the number of all that match."""

    data: tuple[_Item, ...]
    total: int


class RunState(NamedTuple):
    """What followers poll."""

    status: RunStatus
    num_events: int


class BeatAnswer(NamedTuple):
    """What the queue answers to the heartbeat of a valid lease."""

    token: str
    status: RunStatus
    """`cancelling`: stop it."""
    is_held: bool = False
    """The run was paused: stop it with a checkpoint and requeue it. Tasks cannot be paused."""


class LeaseBeat(NamedTuple):
    """A lease as observers see it: while its holder is alive, `beats` grows."""

    run_id: str
    worker_id: str
    token: str
    beats: int
    num_failures: int


SlotDevice = Literal["auto", "cpu", "gpu", "tpu"]
WorkerStatus = Literal["active", "draining", "stopped", "lost"]
_SLOT = re.compile(r"(auto|cpu|gpu|tpu)(?::(\d+))?")


class Slot(Record):
    """Room for one run at a time."""

    device: SlotDevice = "auto"
    """auto takes any run, and the run chooses the device."""
    index: int | None = None
    """Index of the GPU. None: all GPUs."""

    def takes(self, device: str) -> bool:
        """Whether a run that requests `device` may run here."""
        return self.device == "auto" or device in ("auto", self.device)

    def __str__(self) -> str:
        return self.device if self.index is None else f"{self.device}:{self.index}"


def parse_slot(text: str) -> Slot:
    """Parse a slot.

    Example:
        "gpu:1" -> Slot(device="gpu", index=1)
    """
    match = _SLOT.fullmatch(text)
    if match is None or (match[2] is not None and match[1] != "gpu"):
        raise InvalidInputError(
            f"{text!r} is not a slot.", next_step="Use cpu, gpu, tpu or auto; gpu:0 is the first GPU only."
        )
    return Slot.model_validate({"device": match[1], "index": None if match[2] is None else int(match[2])})


class Worker(Record):
    """A worker process."""

    worker_id: str
    host: str
    pid: int
    process_start: str
    """When the process started, from the operating system: it tells a reused pid apart."""
    version: str
    slots: tuple[Slot, ...]
    status: WorkerStatus
    started_at: datetime
    last_seen_at: datetime
    beats: int
