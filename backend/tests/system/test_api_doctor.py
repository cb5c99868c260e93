"""`GET /api/doctor`: the diagnosis of the server's machine, cached until a fresh one is requested."""

import pytest
from fastapi.testclient import TestClient
from support.apps import make_app

from tunix_rt.base.home import Home
from tunix_rt.system.doctor import CachedDiagnosis
from tunix_rt.system.types import Diagnosis

DIAGNOSIS = Diagnosis(
    tunix_rt_version="0.1.0",
    python="3.11.9",
    platform="Linux",
    num_cpus=2,
    engines=(),
    auto_engine="jax: it is installed",
    extras=(),
    home="/somewhere",
)


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_diagnosis_is_cached_until_refreshed(store: Home) -> None:
    calls: list[Diagnosis] = []

    def diagnose() -> Diagnosis:
        calls.append(DIAGNOSIS)
        return DIAGNOSIS

    app = make_app(store)
    app.state.doctor = CachedDiagnosis(diagnose)
    http = TestClient(app)
    first = http.get("/api/doctor").json()
    assert first["diagnosis"]["num_cpus"] == 2
    assert http.get("/api/doctor").json() == first
    assert len(calls) == 1
    assert http.get("/api/doctor?fresh=true").json()["examined_at"] > first["examined_at"]
    assert len(calls) == 2
