"""Use cases around the list of runs: all of the home's, whoever started them."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, Record, pagination
from tunix_rt.core.runs.run import Run, RunDetail, ServiceEvent
from tunix_rt.core.runs.store_types import RunFilter
from tunix_rt.core.runs.worker import Worker
from tunix_rt.db.flags import FlagRepository
from tunix_rt.db.runs import RunRepository
from tunix_rt.db.workers import WorkerRepository
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.services.runs.outside import unmanaged_runs

_MAX_SHOWN = 5


class RunList(BaseModel):
    """A page of runs."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Run, ...]
    pagination: Pagination


class RunTimes(Record):
    """Where a run stands, and since when."""

    run_id: str
    status: RunStatus
    is_held: bool
    num_attempts: int
    queued_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None


class RunEventList(BaseModel):
    """What queue and workers did with a run, in order."""

    model_config = ConfigDict(frozen=True)
    data: tuple[ServiceEvent, ...]


class WorkerList(BaseModel):
    """Every worker that is known, the newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Worker, ...]


class QueueState(BaseModel):
    """How the queue stands."""

    model_config = ConfigDict(frozen=True)
    is_paused: bool
    num_runs: dict[RunStatus, int]
    """By status; those that there are none of are left out."""
    num_held: int
    """Of the queued ones: they wait until somebody resumes them."""
    workers: tuple[Worker, ...]


def list_runs(home: Home, criteria: RunFilter, *, limit: int, offset: int) -> RunList:
    """A page of runs, newest first, with the total."""
    unmanaged_runs(home).refresh()
    page = RunRepository(home.database).list(criteria, limit=limit, offset=offset)
    return RunList(data=page.data, pagination=pagination(limit, offset, len(page.data), page.total))


def get_run(home: Home, run_id: str) -> RunDetail:
    """A run by its whole id, or NotFoundError."""
    unmanaged_runs(home).refresh()
    run = RunRepository(home.database).get(run_id)
    if run.executor != "direct" or run.status == "succeeded":
        return run
    unmanaged_runs(home).follow(run_id)  # somebody may have gone on with it
    return RunRepository(home.database).get(run_id)


def get_times(home: Home, run_id: str) -> RunTimes:
    """Where a run stands, or NotFoundError."""
    unmanaged_runs(home).refresh()
    run = RunRepository(home.database).summary(run_id)
    return RunTimes.model_validate({name: getattr(run, name) for name in RunTimes.model_fields})


def find_run_id(home: Home, part: str) -> str:
    """The id that somebody meant who typed its beginning, or its last word.

    Raises:
        NotFoundError: No run's id begins or ends so.
        InvalidInputError: Several do.

    Example:
        "3f2a" -> "20250131-142907-demo-3f2a"
    """
    unmanaged_runs(home).refresh()
    found = RunRepository(home.database).find_ids(part, limit=_MAX_SHOWN + 1) if part else ()
    if part in found or len(found) == 1:
        return part if part in found else found[0]
    if not found:
        raise NotFoundError(f"There is no run {part!r}.", next_step="List the runs: tunix-rt runs list")
    shown = ", ".join(found[:_MAX_SHOWN]) + (", …" if len(found) > _MAX_SHOWN else "")
    raise InvalidInputError(f"{part!r} stands for several runs: {shown}.", next_step="Type more of the id.")


def list_events(home: Home, run_id: str, *, after: int = -1) -> RunEventList:
    """The events of a run with a higher sequence than `after`, or NotFoundError."""
    unmanaged_runs(home).refresh()
    return RunEventList(data=RunRepository(home.database).events(run_id, after=after))


def list_workers(home: Home) -> WorkerList:
    """Who takes runs."""
    return WorkerList(data=WorkerRepository(home.database).list())


def queue_state(home: Home) -> QueueState:
    """How the queue stands."""
    unmanaged_runs(home).refresh()
    return QueueState(
        is_paused=FlagRepository(home.database).is_queue_paused(),
        num_runs=RunRepository(home.database).counts(),
        num_held=RunRepository(home.database).num_held(),
        workers=WorkerRepository(home.database).list(),
    )
