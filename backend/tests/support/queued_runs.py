"""Builders of runs and workers for tests of the run queue."""

from datetime import UTC, datetime
from typing import Any

from tunix_rt.base.home import Home
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import Claim, NewRun, RunDetail, RunRequest, Slot, Worker

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)
ANY_SLOT = (Slot(device="auto"),)


def new_run(run_id: str = "run-1", *, sweep_id: str | None = None, **request: Any) -> NewRun:
    """Return a run of the smallest recipe; `request` sets fields of the request."""
    recipe = {"model": {"name": "tiny-llama"}, "data": {"dataset": "demo-v1"}, "training": {"num_steps": 2}}
    run_request = RunRequest.model_validate({"recipe": "demo"} | request)
    return NewRun(
        run_id=run_id,
        request=run_request,
        recipe_name="demo",
        model="tiny-llama",
        dataset="demo-v1",
        mode="full",
        engine=run_request.engine,
        sweep_id=sweep_id,
        recipe=recipe,
    )


def queued(store: Home, run_id: str = "run-1", **request: Any) -> RunDetail:
    """Add a run to the queue."""
    return RunRepository(store.database).add(new_run(run_id, **request))


def claimed(store: Home, run_id: str = "run-1", worker_id: str = "worker-a", **request: Any) -> Claim:
    """Add a run to the queue and claim it."""
    queued(store, run_id, **request)
    claim = RunRepository(store.database).claim(worker_id, ANY_SLOT)
    assert claim is not None
    assert claim.run.run_id == run_id
    return claim


def kinds(store: Home, run_id: str = "run-1") -> list[str]:
    """Return the event kinds of a run in order, after checking that the sequence has no gap."""
    num_before = RunRepository(store.database).status_of(run_id).num_events
    events = RunRepository(store.database).events(run_id)
    assert [event.sequence for event in events] == list(range(len(events)))
    # A worker may add an event between two reads.
    assert num_before <= len(events) <= RunRepository(store.database).status_of(run_id).num_events
    return [event.kind for event in events]


def make_worker(worker_id: str = "worker-a", **values: Any) -> Worker:
    """Return a worker on this machine with one slot."""
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
