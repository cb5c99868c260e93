"""Runs for tests of the queue: complete ones, of which a test says only what it is about."""

from datetime import UTC, datetime
from typing import Any

from tunix_rt.base.home import Home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Claim, NewRun, RunDetail, RunRequest, Slot, Worker

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)
ANY_SLOT = (Slot(device="auto"),)


def new_run(run_id: str = "run-1", *, sweep_id: str | None = None, **request: Any) -> NewRun:
    """A run of the smallest recipe; `request` replaces what was asked for."""
    recipe = {"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}
    asked = RunRequest.model_validate({"recipe": "demo"} | request)
    return NewRun(
        run_id=run_id,
        request=asked,
        recipe_name="demo",
        model="tiny-llama",
        dataset="demo-v1",
        mode="full",
        engine=asked.engine,
        sweep_id=sweep_id,
        recipe=recipe,
    )


def queued(store: Home, run_id: str = "run-1", **request: Any) -> RunDetail:
    """The same, in the queue."""
    return RunRepository(store.database).add(new_run(run_id, **request))


def claimed(store: Home, run_id: str = "run-1", worker_id: str = "worker-a", **request: Any) -> Claim:
    """The same, in the hands of a worker."""
    queued(store, run_id, **request)
    claim = RunRepository(store.database).claim(worker_id, ANY_SLOT)
    assert claim is not None
    assert claim.run.run_id == run_id
    return claim


def kinds(store: Home, run_id: str = "run-1") -> list[str]:
    """What happened to a run, in order; the events are numbered without a gap."""
    num_before = RunRepository(store.database).status_of(run_id).num_events
    events = RunRepository(store.database).events(run_id)
    assert [event.sequence for event in events] == list(range(len(events)))
    # A worker may add one between two looks.
    assert num_before <= len(events) <= RunRepository(store.database).status_of(run_id).num_events
    return [event.kind for event in events]


def make_worker(worker_id: str = "worker-a", **values: Any) -> Worker:
    """A worker on this machine with one slot."""
    defaults = {
        "host": "here",
        "pid": 1,
        "process_start": "0",
        "version": "0",
        "slots": ANY_SLOT,
        "status": "active",
        "started_at": NOON,
        "last_seen_at": NOON,
        "beats": 0,
    }
    return Worker.model_validate(defaults | values | {"worker_id": worker_id})
