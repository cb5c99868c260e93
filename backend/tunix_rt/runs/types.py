"""Run, request, states, leases, workers, live messages.

Engine events and metrics travel as the lines that `events.jsonl` and `metrics.jsonl` have, service events as
`ServiceEvent`; the others are here.

queued      a worker takes it -> running; cancelled at once; failed when it can never be taken
running     its end -> succeeded or failed; told to stop -> cancelling; paused, retried or orphaned -> queued
cancelling  -> cancelled, unless its end comes first
cancelled   resumed -> queued, from the last checkpoint
failed      resumed -> queued, from the last checkpoint
"""

import re
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.errors import ConflictError, InvalidInputError
from tunix_rt.base.records import Count, Record, Word
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import RUN_ID_PATTERN, RunFailure, RunFigures, RunStatus

FIRST_WAIT_S = 2.0
GROWTH = 4.0
BACKOFF_CAP_S = 300.0
"""No retry waits longer. A moment further away than this was written by a clock that was ahead."""


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
    """Lines that a run printed, or a part of one that is very long."""

    seq: Count
    """Bytes of the log up to the end of this chunk: `since_seq` goes on from there."""
    stream: Literal["output"] = "output"
    """What is printed and what is complained of go into one log, in the order in which they came."""
    chunk: str
    """Ends with a newline unless it is partial. Bytes that are no UTF-8 are replaced."""
    is_partial: bool
    """The line goes on in the next chunk, or the run ended in the middle of it."""


class Rewind(Record):
    """Lines that were sent do not hold any more: a resumed run writes them again."""

    source: Literal["events", "metrics"]
    step: Count
    """Forget the lines of later steps. 0: forget all of them."""


class Heartbeat(Record):
    """Nothing has happened for a while; the connection is alive."""

    seq: Count
    """Bytes of the log that were sent so far."""


class StatusMessage(Record):
    """The run has ended and everything was sent. It is the last message."""

    status: RunStatus


Priority = Annotated[int, Field(ge=-1000, le=1000)]
ExecutorName = Literal["local", "ray"]


class RunRequest(BaseModel):
    """A recipe, by its name or whole, and how to run it. The body of `POST /api/tunix/runs`."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    recipe: str | dict[str, JsonValue]
    """Name of a shipped recipe or of one in the home's `recipes/`, or the recipe itself. Never a path."""
    overrides: tuple[str, ...] = ()
    """`key=value`, as `tunix-rt train --set` takes them."""
    dataset: str | None = None
    """Key of the dataset. Default: the recipe's."""
    name: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    """Becomes part of the run's id. Default: the recipe's name."""
    engine: Literal["auto", "jax", "torch"] = "auto"
    device: Literal["auto", "cpu", "gpu", "tpu"] = "auto"
    priority: Priority = 0
    """Higher first; equal ones in the order they came."""
    is_held: bool = False
    """Wait until somebody resumes it."""
    is_forced: bool = False
    """Run although the plan says that it does not fit."""
    target: str | None = None
    """The hardware that it is planned for. Default: this machine, or what the device says."""
    eval_set: str | None = None
    """Evaluate the model on this eval set when the training is done."""
    executor: ExecutorName = "local"
    num_smoke_steps: Annotated[int, Field(ge=1)] | None = None
    """End after this many steps; all else is the same."""

    @model_validator(mode="after")
    def _has_a_recipe(self) -> Self:
        if not self.recipe:
            raise ValueError("recipe is empty")
        return self


class PlanRequest(RunRequest):
    """A run, and how it is to be planned. The body of `POST /api/tunix/plans`."""

    session_seconds: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Time that the run may take, e.g. that of a Kaggle session."""
    is_compiled: bool = False
    """Ask the compiler for the figures, if this machine has one for the target: minutes, the first time."""


class RunPreview(Record):
    """A request that could run: what it resolves to, and what is predicted."""

    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    engine_reason: str
    recipe: dict[str, JsonValue]
    """The resolved one, with `overrides`, as `recipe.resolved.json` has it."""
    plan: Plan | None = None
    """Absent when it is not known on which hardware it will run; the notes say so."""
    notes: tuple[str, ...] = Field(default=())


RunExecutor = ExecutorName | Literal["direct"]
"""`direct`: by `tunix-rt train`, outside the queue; no worker ever takes it."""

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
    """One run, with everything but its recipe and its plan."""

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
    """How often a worker has taken it."""
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
    """A run with what was asked for, what it resolved to and what was predicted."""

    request: RunRequest
    recipe: dict[str, JsonValue]
    plan: dict[str, JsonValue] | None = None


class ServiceEvent(Record):
    """Something that the queue or a worker did with a run. The engine's own events are in its directory."""

    sequence: Count
    """Counts the service's events of a run from 0."""
    time: datetime
    kind: ServiceEventKind
    message: str
    details: dict[str, JsonValue] = Field(default_factory=dict)


class Lease(Record):
    """A worker's right to a run. It holds as long as its holder beats, and for nobody else."""

    run_id: str
    token: str
    """Every write of the worker names it: whoever lost the lease can write nothing more."""


class Claim(Record):
    """What a worker gets when it takes a run."""

    lease: Lease
    run: RunDetail
    attempt: int
    """Counts from 1."""


ACTIVE: frozenset[RunStatus] = frozenset({"running", "cancelling"})
"""A worker has it."""
TERMINAL: frozenset[RunStatus] = frozenset({"cancelled", "failed", "succeeded"})
"""Nothing happens to it any more unless somebody asks."""

ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"queued", "cancelling", "failed", "succeeded"}),
    # A run that is told to stop may have reached its end, or fail, before it hears of it.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"queued"}),
    "failed": frozenset({"queued"}),
    "succeeded": frozenset(),
}


def require_transition(run_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a step that the picture above does not have.

    Raises:
        ConflictError: The run cannot go there from where it stands.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The run {run_id} is {before}; it cannot become {after}.",
            next_step=f"Look at it first: tunix-rt runs show {run_id}",
        )


def steps_between(before: RunStatus, after: RunStatus) -> tuple[RunStatus, ...]:
    """The shortest way, for a run that went it where nobody watched.

    Example:
        running, cancelled -> cancelling, cancelled
    """
    ways: list[tuple[RunStatus, ...]] = [(before,)]
    while ways:
        way = ways.pop(0)
        if way[-1] == after:
            return way[1:]
        ways += [(*way, status) for status in sorted(ALLOWED[way[-1]]) if status not in way]
    raise ConflictError(
        f"A run that is {before} cannot become {after}.", next_step="Submit it as a new run instead."
    )


RunId = Annotated[str, Field(pattern=RUN_ID_PATTERN)]


class NewRun(Record):
    """A run that is about to be queued."""

    run_id: RunId
    request: RunRequest
    recipe_name: str
    model: str
    dataset: str
    mode: str
    engine: str
    sweep_id: str | None = None
    recipe: dict[str, JsonValue]
    """The resolved one, as `recipe.resolved.json` has it."""
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
    """Which runs are meant. Everything given must hold; nothing given means all of them."""

    status: tuple[RunStatus, ...] = ()
    """Any of these; none given means all."""
    dataset: Word | None = None
    mode: Word | None = None
    engine: Word | None = None
    sweep_id: Word | None = None
    model: Word | None = None
    """Stands in the name of the model, whatever the case."""
    text: Word | None = None
    """Stands in the run's id, recipe, model or dataset, whatever the case."""


class RunPage(Record):
    """A page of runs, and how many there are in all."""

    data: tuple[Run, ...]
    total: Count


class RunState(NamedTuple):
    """What followers poll."""

    status: RunStatus
    num_events: int


class BeatAnswer(NamedTuple):
    """What the queue tells the holder of a lease that still holds."""

    token: str
    status: RunStatus
    """`cancelling`: stop it."""
    is_held: bool = False
    """The run was paused: stop it with a checkpoint and requeue it. Tasks cannot be paused."""


class LeaseBeat(NamedTuple):
    """A lease as an observer sees it: while its holder lives, `beats` grows."""

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
    """auto takes any run and leaves the choice of the device to it."""
    index: int | None = None
    """Of the GPU. None: all of them."""

    def takes(self, device: str) -> bool:
        """Whether a run that asks for `device` may go here."""
        return self.device == "auto" or device in ("auto", self.device)

    def __str__(self) -> str:
        return self.device if self.index is None else f"{self.device}:{self.index}"


def parse_slot(text: str) -> Slot:
    """A slot as people write it.

    Example:
        "gpu:1" -> Slot(device="gpu", index=1)
    """
    match = _SLOT.fullmatch(text)
    if match is None or (match[2] is not None and match[1] != "gpu"):
        raise InvalidInputError(
            f"{text!r} is no slot.", next_step="Write cpu, gpu, tpu or auto; gpu:0 is the first GPU alone."
        )
    return Slot.model_validate({"device": match[1], "index": None if match[2] is None else int(match[2])})


class Worker(Record):
    """A worker as the others see it."""

    worker_id: str
    host: str
    pid: int
    process_start: str
    """When the process began, as the operating system says it: a pid that is used again is another one."""
    version: str
    slots: tuple[Slot, ...]
    status: WorkerStatus
    started_at: datetime
    last_seen_at: datetime
    beats: int
