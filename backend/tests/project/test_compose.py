"""docker-compose.yml and the Dockerfile: their commands, started here, serve and train."""

import json
import os
import re
import secrets
import time
import tomllib
from pathlib import Path
from typing import Any

import httpx2 as httpx
import psycopg
from sqlalchemy import create_engine
from support.children import free_port
from support.compose import DEADLINE_S, ROOT, Translation, compose_file, composed, dockerfile_line
from support.http import body, error_of

from tunix_rt.system.store import DUMPED, dump_rows

RECIPE = {
    "model": {"name": "tiny-llama", "weights": "random"},
    "data": {"dataset": "sums-v1", "row_length": 64},
    "training": {
        "num_steps": 2,
        "batch_size": 2,
        "learning_rate": 1e-2,
        "schedule": "constant",
        "remat": "none",
        "precision": {"compute": "float32"},
    },
}
SECRETS = {
    name: f"secret-{secrets.token_hex(12)}"
    for name in ("HF_TOKEN", "KAGGLE_KEY", "OPENAI_API_KEY", "TUNIX_RT_JUDGE_API_KEY", "POSTGRES_PASSWORD")
}


def test_services_are_locked_down() -> None:
    services = compose_file()["services"]
    assert set(services) == {"postgres", "token", "server", "worker"}
    for name in ("token", "server", "worker"):
        assert services[name]["build"] == "."
        assert services[name]["volumes"] == ["home:/data"]
        assert services[name]["read_only"]
        assert services[name]["environment"]["TUNIX_RT_HOME"] == "/data"
    assert dockerfile_line("USER") == "tunix"
    assert all(port.startswith("127.0.0.1:") for port in services["server"]["ports"])


def test_image_copies_existing_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (entry,) = json.loads(dockerfile_line("ENTRYPOINT"))
    assert entry in project["scripts"]
    extras = dockerfile_line("ARG").removeprefix("EXTRAS=").split(",")
    assert set(extras) <= project["optional-dependencies"].keys()
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        word
        for line in re.findall(r"^COPY (?!--from=)(.*)", (ROOT / "Dockerfile").read_text(), re.M)
        for word in line.split()[:-1]
    ]
    assert sorted(allowed) == sorted(copied)
    assert all((ROOT / path).exists() for path in copied)
    assert project["readme"] in copied


def test_composed_service_trains_without_leaking_secrets(postgres_url: str, tmp_path: Path) -> None:
    token = secrets.token_urlsafe(32)
    (tmp_path / "access_token.txt").write_text(f"{token}\n")
    port = free_port()
    with composed(make_translation(postgres_url, tmp_path, port), host_environment(), tmp_path) as running:
        running.await_health("server")
        url = f"http://127.0.0.1:{port}"
        error_of(httpx.get(f"{url}/api/tunix/runs"), 401)
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
            run_id = submit_run(http)
            wait_for_success(http, run_id)
            check_run_over_http(http, run_id)
    assert running.stop() == {"token": 0, "server": 0, "worker": 0}
    check_no_secret([token, *SECRETS.values()], tmp_path, postgres_url)


def make_translation(postgres_url: str, tmp_path: Path, port: int) -> Translation:
    owner = compose_file()["services"]["postgres"]["environment"]
    with psycopg.connect(f"{postgres_url}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {owner['POSTGRES_USER']} LOGIN")
        connection.execute(f"CREATE DATABASE {owner['POSTGRES_DB']} OWNER {owner['POSTGRES_USER']}")
    replacements = {
        "postgres:5432": postgres_url.rpartition("@")[2],
        "/run/secrets/access_token": str(tmp_path / "access_token.txt"),
        "/data": str(tmp_path / "home"),
        "8000": str(port),
    }
    return Translation(SECRETS, replacements)


def host_environment() -> dict[str, str]:
    """Return the environment of a container, plus secrets that must not leak."""
    names = ("PATH", "PYTHONPATH", "XLA_FLAGS", "JAX_PLATFORMS", "LANG")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    return environment | SECRETS | {"OMP_NUM_THREADS": "1"}


def submit_run(http: httpx.Client) -> str:
    traces = [body(f"What is {n} + 3?", steps=[f"{n} + 3 = {n + 3}"]) for n in range(12)]
    assert http.post("/api/traces/batch", json=traces).status_code == 201
    spec = {"dataset_name": "sums", "splits": {"train": 1.0}}
    built = http.post("/api/datasets/build", json=spec)
    assert built.status_code == 201, built.text
    submitted = http.post("/api/tunix/runs", json={"recipe": RECIPE, "engine": "jax", "device": "cpu"})
    assert submitted.status_code == 201, submitted.text
    run_id: str = submitted.json()["run_id"]
    return run_id


def wait_for_success(http: httpx.Client, run_id: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while (run := http.get(f"/api/tunix/runs/{run_id}").json())["status"] in ("queued", "running"):
        assert time.monotonic() < deadline, run
        time.sleep(0.2)
    assert run["status"] == "succeeded", run


def check_run_over_http(http: httpx.Client, run_id: str) -> None:
    events: list[dict[str, Any]] = http.get(f"/api/tunix/runs/{run_id}/events").json()["data"]
    assert [event["kind"] for event in events][:3] == ["submitted", "claimed", "started"]
    assert "step 2/2" in http.get(f"/api/tunix/runs/{run_id}/logs").text
    assert 'tunix_rt_runs{status="succeeded"} 1.0' in http.get("/metrics").text
    error_of(http.get("/api/traces", headers={"host": "evil.example"}), 421)


def check_no_secret(secret_values: list[str], tmp_path: Path, postgres_url: str) -> None:
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    del files[tmp_path / "access_token.txt"]
    engine = create_engine(f"{postgres_url.replace('postgresql:', 'postgresql+psycopg:')}/tunix_rt")
    with engine.connect() as connection:
        rows = {table.name: b"".join(dump_rows(connection, table)) for table in DUMPED}
    engine.dispose()
    assert any(path.name == "output.log" for path in files)
    assert rows["run_events"]
    for secret in secret_values:
        for place, content in {**files, **rows}.items():
            assert secret.encode() not in content, place
