"""Reads on the short way: to the byte what the web framework would have answered."""

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from support.datasets import add, sums
from support.queued_runs import queued

from tunix_rt.api.app import ROUTES, create_app
from tunix_rt.api.errors import install_error_handlers
from tunix_rt.api.short_way import is_plain
from tunix_rt.services.store import Store

on_sqlite = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
RUNS = "/api/tunix/runs"
PATHS = [
    RUNS,
    f"{RUNS}?limit=1&offset=1",
    f"{RUNS}?limit=1&limit=2",
    f"{RUNS}?status=failed&status=queued",
    f"{RUNS}?model=&unknown=1",
    f"{RUNS}?text=run%2D2",
    f"{RUNS}?limit=0",
    f"{RUNS}?limit=many",
    f"{RUNS}?status=asleep",
    f"{RUNS}/run-1",
    f"{RUNS}/run-1?run_id=run-2",
    f"{RUNS}/run-9",
    f"{RUNS}/..%2F",
    f"{RUNS}/run-1/status",
    f"{RUNS}/run-1/events?after=0",
    f"{RUNS}/run-1/events?after=-2",
    f"{RUNS}/run-1/metrics",
    f"{RUNS}/run-1/nothing",
    "/api/traces/compare",
    "/api/datasets?limit=x",
]


@pytest.fixture
def filled(store: Store) -> Store:
    add(store, sums(2))
    queued(store, "run-1", priority=3)
    queued(store, "run-2")
    return store


def on_the_long_way(store: Store) -> FastAPI:
    app = FastAPI()
    app.state.store = store
    install_error_handlers(app)
    for routes in ROUTES:
        app.include_router(routes.router)
    return app


@on_sqlite
def test_an_answer_does_not_tell_which_way_it_came(filled: Store) -> None:
    on_both = TestClient(create_app(filled)), TestClient(on_the_long_way(filled))
    for path in PATHS:
        short, long = (client.get(path) for client in on_both)
        assert (short.status_code, short.content) == (long.status_code, long.content), path
        assert short.headers["content-type"] == long.headers["content-type"], path


def test_reads_of_runs_take_it_and_streams_and_downloads_do_not() -> None:
    routes = [route for module in ROUTES for route in module.router.routes if isinstance(route, APIRoute)]
    ways = {route.path: is_plain(route) for route in routes if route.methods == {"GET"}}
    assert all(ways[f"{RUNS}{rest}"] for rest in ("", "/{run_id}", "/{run_id}/status", "/{run_id}/metrics"))
    assert not ways[f"{RUNS}/{{run_id}}/stream"]
    assert not ways[f"{RUNS}/{{run_id}}/artifacts/{{path:path}}/download"]
