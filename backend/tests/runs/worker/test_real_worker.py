"""`tunix-rt worker` with a real engine, and `tunix-rt up` with its worker."""

import os
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest
from support.children import environment, free_port, start_program
from support.jobs import PATIENCE_S, wait_for
from support.queued_runs import kinds
from support.training import TrainingWorkspace, make_workspace
from support.workers import wait_for_run_status

from tunix_rt.base.files.jsonl import read_json_lines
from tunix_rt.base.home import Home, open_home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.recipes.load import load_recipe
from tunix_rt.runs.executors.processes import HAS_PROC, descendants
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.submit import submit
from tunix_rt.runs.types import RunRequest

QUICK = {"TUNIX_RT_WORKER_BEAT_S": "0.2", "TUNIX_RT_WORKER_POLL_S": "0.2"}


def submit_run(store: Home, workspace: TrainingWorkspace) -> str:
    recipe = load_recipe(workspace.recipe, sets=["eval={}"]).recipe.model_dump(mode="json")
    return submit(store, RunRequest(recipe=recipe, engine="jax", device="cpu")).run_id


def active_worker(store: Home) -> tuple[str, int] | None:
    found = [
        (worker.worker_id, worker.pid)
        for worker in WorkerRepository(store.database).list()
        if worker.status == "active"
    ]
    return found[0] if found else None


@pytest.mark.skipif(not HAS_PROC, reason="the engine is found through /proc")
def test_run_survives_engine_death(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    with closing(open_home(workspace.settings)) as store:
        run_id = submit_run(store, workspace)
        run_dir, job_dir = RunDir(store.settings.runs_dir / run_id), JobDir(store.settings.jobs_dir / run_id)
        with start_program("worker", "--slot", "cpu", environ=workspace.environment(**QUICK)) as worker:
            try:
                # The events are written before the step is compiled, which takes a while.
                wait_for(run_dir.events.exists)
                supervisor = job_dir.read_child()
                assert supervisor is not None
                os.kill(descendants(supervisor.pid)[0], signal.SIGKILL)
                run = wait_for_run_status(store, "succeeded", run_id)
                worker.terminate()
                assert worker.wait(PATIENCE_S) == 0
            finally:
                worker.kill()
        assert kinds(store, run_id)[2:] == ["started", "retry", "claimed", "started", "succeeded"]
    assert [line["step"] for line in read_json_lines(run_dir.metrics)] == list(range(1, 13))
    events = read_json_lines(run_dir.events)
    assert [event["sequence"] for event in events] == list(range(len(events)))
    manifest = RunManifest.model_validate_json(run_dir.manifest.read_bytes())
    assert run.figures == manifest.figures
    assert manifest.recipe == run.recipe_name
    assert "step 12/12" in job_dir.output.read_text()


def test_server_replaces_and_stops_its_worker(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    environ = environment(workspace.settings, **QUICK)
    with closing(open_home(workspace.settings)) as store:
        run_id = submit_run(store, workspace)
        shutil.rmtree(store.settings.datasets_dir)
        with start_program("up", "--port", str(free_port()), environ=environ) as server:
            try:
                run = wait_for_run_status(store, "failed", run_id)
                first = wait_for(lambda: active_worker(store))
                os.kill(first[1], signal.SIGKILL)
                second = wait_for(lambda: _other_worker(store, first))
            finally:
                server.kill()
        wait_for(lambda: _worker_status(store, second[0]) == "stopped")
    assert run.failure is not None
    assert "no dataset" in run.failure.detail
    assert run.num_attempts == 1


def _other_worker(store: Home, first: tuple[str, int]) -> tuple[str, int] | None:
    found = active_worker(store)
    return None if found == first else found


def _worker_status(store: Home, worker_id: str) -> str | None:
    statuses = {worker.worker_id: worker.status for worker in WorkerRepository(store.database).list()}
    return statuses.get(worker_id)
