"""One run as it is asked for again and again."""

from sqlalchemy import Engine, bindparam, select

from tunix_rt.base.db.schema import runs
from tunix_rt.base.db.statements import QuickRead
from tunix_rt.core.runs.run import Run, RunDetail, ServiceEvent
from tunix_rt.core.runs.store_types import RunStanding
from tunix_rt.db.run_events import LATER, event_of
from tunix_rt.db.run_rows import DETAIL_COLUMNS, SUMMARY_COLUMNS, detail_of, run_of
from tunix_rt.db.run_transitions import unknown_run

THIS_RUN = runs.c.id == bindparam("run_id")
DETAIL = select(*DETAIL_COLUMNS).where(THIS_RUN)
_DETAIL = QuickRead(DETAIL)
_SUMMARY = QuickRead(select(*SUMMARY_COLUMNS).where(THIS_RUN))
_STANDING = QuickRead(select(runs.c.status, runs.c.num_events).where(THIS_RUN))
_LATER_EVENTS = QuickRead(LATER)


def read_detail(engine: Engine, run_id: str) -> RunDetail:
    """The run with its recipe and its plan, or NotFoundError."""
    for row in _DETAIL.rows(engine, {"run_id": run_id}):
        return detail_of(row)
    raise unknown_run(run_id)


def read_summary(engine: Engine, run_id: str) -> Run:
    """The run without them, or NotFoundError."""
    for row in _SUMMARY.rows(engine, {"run_id": run_id}):
        return run_of(row)
    raise unknown_run(run_id)


def read_standing(engine: Engine, run_id: str) -> RunStanding:
    """Where a run stands and how many events it has, or NotFoundError."""
    for row in _STANDING.rows(engine, {"run_id": run_id}):
        return RunStanding(*row)
    raise unknown_run(run_id)


def read_events(engine: Engine, run_id: str, *, after: int) -> tuple[ServiceEvent, ...]:
    """What queue and workers did with a run after that event, in order; or NotFoundError."""
    found = tuple(map(event_of, _LATER_EVENTS.rows(engine, {"run_id": run_id, "after": after})))
    if not found:
        read_standing(engine, run_id)
    return found
