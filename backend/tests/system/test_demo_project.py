"""The demo of a server: it starts once, reports its stages and stops with the server."""

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
SUCCEEDING_SCRIPT = f"import sys; print('7/10 planning', file=sys.stderr); print({json.dumps(RESULT)!r})"
FAILING_SCRIPT = "import sys; sys.exit('Error: JAX is not installed.')"
LONG_SCRIPT = (
    "import sys, time; print('9/10 training; Ctrl-C stops', file=sys.stderr, flush=True); time.sleep(600)"
)


@pytest.fixture
def home_settings(tmp_path: Path) -> Settings:
    """Settings for a home without a database, which the demo's state does not need."""
    return Settings(home=tmp_path)


def make_demo(settings: Settings, script: str) -> DemoProject:
    return DemoProject(settings, (sys.executable, "-c", script))


def wait_for(demo: DemoProject, text: str) -> DemoState:
    deadline = time.monotonic() + DEADLINE_S
    while text not in (state := demo.state()).model_dump_json():
        assert time.monotonic() < deadline, state
        time.sleep(0.05)
    return state


@pytest.fixture
def long_demo(home_settings: Settings) -> Iterator[DemoProject]:
    demo = make_demo(home_settings, LONG_SCRIPT)
    yield demo
    demo.close()


def test_state_is_none_before_start(home_settings: Settings) -> None:
    assert DemoProject(home_settings).state() == DemoState(status="none")


def test_finished_demo_survives_restart(home_settings: Settings) -> None:
    demo = make_demo(home_settings, SUCCEEDING_SCRIPT)
    demo.start()
    state = wait_for(demo, "succeeded")
    assert state.figures is not None
    assert (state.figures.after, state.figures.low, state.figures.num_items) == (0.99, 0.96, 200)
    assert DemoProject(home_settings).state() == state
    demo.close()


def test_failed_demo_reports_reason(home_settings: Settings) -> None:
    demo = make_demo(home_settings, FAILING_SCRIPT)
    demo.start()
    assert wait_for(demo, "failed").failure == "Error: JAX is not installed."
    demo.close()


def test_running_demo_reports_its_stage(long_demo: DemoProject) -> None:
    assert long_demo.start().status == "running"
    assert wait_for(long_demo, "9/10").stage == "9/10 training"
    with pytest.raises(ConflictError):
        long_demo.start()


def test_demo_stops_with_the_server(long_demo: DemoProject) -> None:
    long_demo.start()
    long_demo.close()
    assert long_demo.state().status == "failed"


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_demo_starts_over_http(store: Home) -> None:
    app = make_app(store)
    app.state.demo = make_demo(store.settings, LONG_SCRIPT)
    with TestClient(app) as http:
        assert http.get("/api/demo").json() == {"status": "none"}
        assert http.post("/api/demo").status_code == 202
        error_of(http.post("/api/demo"), 409)
