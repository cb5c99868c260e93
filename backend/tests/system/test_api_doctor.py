"""The machine of the server over HTTP: examined once for everybody, and again when asked for."""

import pytest
from fastapi.testclient import TestClient
from support.apps import make_app

from tunix_rt.base.home import Home
from tunix_rt.system.doctor import CachedDiagnosis
from tunix_rt.system.types import Diagnosis

MACHINE = Diagnosis(
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
def test_the_machine_is_examined_once_until_somebody_wants_it_fresh(store: Home) -> None:
    examinations: list[Diagnosis] = []

    def diagnose() -> Diagnosis:
        examinations.append(MACHINE)
        return MACHINE

    app = make_app(store)
    app.state.doctor = CachedDiagnosis(diagnose)
    http = TestClient(app)
    first = http.get("/api/doctor").json()
    assert first["diagnosis"]["num_cpus"] == 2
    assert http.get("/api/doctor").json() == first
    assert len(examinations) == 1
    assert http.get("/api/doctor?fresh=true").json()["examined_at"] > first["examined_at"]
    assert len(examinations) == 2
