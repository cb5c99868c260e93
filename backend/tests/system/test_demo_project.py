"""The demo project of a server: started once, told step by step, and gone with the server."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from support.apps import make_app
from support.http import error_of

from tunix_rt.base.errors import ConflictError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.system.demo import DemoProject, DemoState

DEADLINE_S = 60
RESULT = {"passed": True, "before": 0.0, "after": 0.99, "interval": [0.96, 1.0], "num_items": 200}
ENDS_WELL = f"import sys; print('7/10 planning', file=sys.stderr); print({json.dumps(RESULT)!r})"
FAILS = "import sys; sys.exit('Error: JAX is not installed.')"
LASTS = "import sys, time; print('9/10 training; Ctrl-C stops', file=sys.stderr, flush=True); time.sleep(600)"


@pytest.fixture
def plain(tmp_path: Path) -> Settings:
    """Settings of a home without a database: the demo's own state needs none."""
    return Settings(home=tmp_path)


def project(settings: Settings, script: str) -> DemoProject:
    return DemoProject(settings, (sys.executable, "-c", script))


def awaited(demo: DemoProject, condition: str) -> DemoState:
    deadline = time.monotonic() + DEADLINE_S
    while condition not in (state := demo.state()).model_dump_json():
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    return state


@pytest.fixture
def lasting(plain: Settings) -> Iterator[DemoProject]:
    demo = project(plain, LASTS)
    yield demo
    demo.close()


def test_a_home_without_a_demo_says_so(plain: Settings) -> None:
    assert DemoProject(plain).state() == DemoState(status="none")


def test_a_finished_demo_survives_a_server_restart(plain: Settings) -> None:
    demo = project(plain, ENDS_WELL)
    demo.start()
    state = awaited(demo, "succeeded")
    assert state.figures is not None
    assert (state.figures.after, state.figures.low, state.figures.num_items) == (0.99, 0.96, 200)
    assert DemoProject(plain).state() == state
    demo.close()


def test_a_failed_demo_says_why(plain: Settings) -> None:
    demo = project(plain, FAILS)
    demo.start()
    assert awaited(demo, "failed").failure == "Error: JAX is not installed."
    demo.close()


def test_a_running_demo_reports_its_stage_and_starts_once(lasting: DemoProject) -> None:
    assert lasting.start().status == "running"
    assert awaited(lasting, "9/10").stage == "9/10 training"
    with pytest.raises(ConflictError):
        lasting.start()


def test_it_ends_with_the_server(lasting: DemoProject) -> None:
    lasting.start()
    lasting.close()
    assert lasting.state().status == "failed"


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_the_demo_is_made_over_http(store: Home) -> None:
    app = make_app(store)
    app.state.demo = project(store.settings, LASTS)
    with TestClient(app) as http:
        assert http.get("/api/demo").json() == {"status": "none"}
        assert http.post("/api/demo").status_code == 202
        error_of(http.post("/api/demo"), 409)
