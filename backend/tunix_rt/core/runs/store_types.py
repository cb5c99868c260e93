"""What the store of runs takes and gives: new runs, filters, pages, leases."""

from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field, JsonValue

from tunix_rt.base.records import Count, Record, Word
from tunix_rt.core.runs.request import RunRequest
from tunix_rt.core.runs.run import Run
from tunix_rt.engines.training.types import RUN_ID_PATTERN, RunFailure, RunFigures, RunStatus

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


class OutsideStanding(Record):
    """Where a run outside the queue stands, as its directory tells."""

    status: RunStatus
    finished_at: datetime | None = None
    exit_code: int | None = None
    failure: RunFailure | None = None
    figures: RunFigures | None = None


class OutsideRun(Record):
    """A run that `tunix-rt train` wrote without the queue."""

    new: NewRun
    created_at: datetime
    standing: OutsideStanding


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


class RunStanding(NamedTuple):
    """The little that a follower asks for again and again."""

    status: RunStatus
    num_events: int


class BeatAnswer(NamedTuple):
    """What the queue tells the holder of a lease that still holds."""

    token: str
    status: RunStatus
    """`cancelling`: stop it."""
    is_held: bool
    """Stop it with a checkpoint and put it back: somebody paused it."""


class LeaseBeat(NamedTuple):
    """A lease as an observer sees it: while its holder lives, `beats` grows."""

    run_id: str
    worker_id: str
    token: str
    beats: int
    num_failures: int
