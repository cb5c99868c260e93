"""Unmanaged runs are listed with the status of their directories."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.queued_runs import ANY_SLOT, kinds, queued
from support.run_dirs import NOON, finished_run

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs import service
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.service import get_run
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import RunFilter
from tunix_rt.runs.unmanaged import UnmanagedRuns, refreshed_runs


def statuses(store: Home) -> dict[str, str]:
    """Refresh the unmanaged runs and return the status of every run."""
    UnmanagedRuns(store.settings.runs_dir, RunRepository(store.database)).refresh()
    return {
        run.run_id: run.status
        for run in RunRepository(store.database).list(RunFilter(), limit=100, offset=0).data
    }


def make_unmanaged_run(store: Home, run_id: str = "by-hand", **manifest: object) -> RunDir:
    return finished_run(store.settings.runs_dir / run_id, **manifest)


@contextmanager
def hold_run(store: Home, run_id: str = "by-hand") -> Iterator[RunDir]:
    """Create a run whose directory this process holds."""
    run_dir = make_unmanaged_run(store, run_id)
    run_dir.manifest.unlink()
    event = {"sequence": 0, "time": NOON.isoformat(), "kind": "started", "message": "started"}
    run_dir.events.write_text(json.dumps(event) + "\n")
    with run_dir.held():
        yield run_dir


def test_finished_run_is_listed(store: Home, runs: RunRepository) -> None:
    make_unmanaged_run(store)
    queued(store, "in-the-queue")
    assert statuses(store) == statuses(store) == {"in-the-queue": "queued", "by-hand": "succeeded"}
    run = runs.get("by-hand")
    assert (run.executor, run.num_attempts, run.finished_at) == ("direct", 0, NOON)
    assert (run.recipe_name, run.model, run.dataset, run.mode) == ("tiny", "tiny-llama", "demo-v1", "full")
    assert kinds(store, "by-hand") == ["imported"]


def test_locked_run_is_running(store: Home, runs: RunRepository) -> None:
    with hold_run(store) as run_dir:
        assert statuses(store) == {"by-hand": "running"}
        assert runs.get("by-hand").created_at == NOON
        assert runs.leases() == ()
        with pytest.raises(ConflictError, match="outside the queue"):
            refreshed_runs(store).cancel("by-hand")
        with pytest.raises(ConflictError, match="Ctrl-C"):
            service.remove(store, "by-hand")
    assert statuses(store) == {"by-hand": "failed"}
    failure = runs.get("by-hand").failure
    assert failure is not None
    assert "runs resume by-hand" in failure.next_step
    assert kinds(store, "by-hand") == ["imported", "failed"]
    assert run_dir.recipe.is_file()


def test_interrupted_run_is_cancelled(store: Home, tmp_path: Path, runs: RunRepository) -> None:
    with hold_run(store) as run_dir:
        statuses(store)
        other = finished_run(tmp_path / "by-hand", status="cancelled", exit_code=130)
        run_dir.manifest.write_bytes(other.manifest.read_bytes())
    assert statuses(store) == {"by-hand": "cancelled"}
    assert runs.get("by-hand").exit_code == 130
    assert kinds(store, "by-hand") == ["imported", "cancel-asked", "cancelled"]


def test_late_files_are_read_at_end(store: Home, tmp_path: Path, runs: RunRepository) -> None:
    with hold_run(store) as run_dir:
        run_dir.plan.unlink(missing_ok=True)
        statuses(store)
        run = runs.get("by-hand")
        assert (run.recipe_name, run.plan) == ("by-hand", None)
        run_dir.plan.write_text('{"fits": true}')
        run_dir.manifest.write_bytes(finished_run(tmp_path / "by-hand").manifest.read_bytes())
    statuses(store)
    run = runs.get("by-hand")
    assert (run.recipe_name, run.plan) == ("tiny", {"fits": True})


def test_resumed_run_is_running_again(store: Home) -> None:
    with hold_run(store) as run_dir:
        pass
    assert statuses(store) == {"by-hand": "failed"}
    with run_dir.held():
        run = get_run(store, "by-hand")
    assert (run.status, run.failure, run.finished_at) == ("running", None, None)
    assert kinds(store, "by-hand") == ["imported", "resumed", "started"]


def test_deleted_directory_fails_run(store: Home) -> None:
    with hold_run(store) as run_dir:
        statuses(store)
    shutil.rmtree(run_dir.path)
    assert statuses(store) == {"by-hand": "failed"}
    service.remove(store, "by-hand")
    assert statuses(store) == {}


def test_failed_run_resumes_in_queue(store: Home, runs: RunRepository) -> None:
    with hold_run(store):
        pass
    statuses(store)
    assert service.resume(store, "by-hand").status == "queued"
    recipe = json.loads(JobDir(store.settings.jobs_dir / "by-hand").recipe.read_bytes())
    assert recipe["data"]["dataset"] == "demo-v1"
    claim = runs.claim("worker-a", ANY_SLOT)
    assert claim is not None
    assert statuses(store) == {"by-hand": "running"}, "the queue owns the status now"


def test_run_without_dataset_cannot_be_queued(store: Home) -> None:
    with hold_run(store) as run_dir:
        recipe = json.loads(run_dir.recipe.read_bytes())
        run_dir.recipe.write_text(json.dumps(recipe | {"data": {"dataset": None}}))
    statuses(store)
    with pytest.raises(ConflictError, match="--resume"):
        service.resume(store, "by-hand")


def test_new_run_directories_are_found(store: Home, tmp_path: Path, runs: RunRepository) -> None:
    runs_dir = store.settings.runs_dir
    unmanaged_runs = UnmanagedRuns(runs_dir, runs, refresh_every_s=0)
    (runs_dir / "existing").mkdir(parents=True)
    for name in ("existing", "new"):
        os.utime(runs_dir, (0, 0))
        unmanaged_runs.refresh()
        with pytest.raises(NotFoundError):
            runs.get(name)
        shutil.copytree(finished_run(tmp_path / name).path, runs_dir / name, dirs_exist_ok=True)
        unmanaged_runs.refresh()
        assert runs.get(name).status == "succeeded"


def test_other_directories_are_ignored(store: Home) -> None:
    runs_dir = store.settings.runs_dir
    make_unmanaged_run(store, "one")
    make_unmanaged_run(store, "one-process-1")
    make_unmanaged_run(store, ".removing-1")
    for name, recipe in [("empty", None), ("torn", b'{"model"'), ("other", b'{"a": 1}'), ("list", b"[1]")]:
        (runs_dir / name).mkdir()
        if recipe is not None:
            (runs_dir / name / "recipe.resolved.json").write_bytes(recipe)
    (runs_dir / "file").write_text("no directory")
    (runs_dir / "link").symlink_to(runs_dir / "one")
    assert statuses(store) == {"one": "succeeded"}


def test_damaged_manifest_fails_run(store: Home, runs: RunRepository) -> None:
    make_unmanaged_run(store).manifest.write_text("{}")
    assert statuses(store) == {"by-hand": "failed"}
    failure = runs.get("by-hand").failure
    assert failure is not None
    assert "cannot be read" in failure.detail


def test_remove_deletes_run_directories(store: Home) -> None:
    make_unmanaged_run(store)
    make_unmanaged_run(store, "another")
    job = store.settings.jobs_dir / "by-hand"
    job.mkdir(parents=True)
    leftover = store.settings.runs_dir / ".removing-1"
    leftover.mkdir()
    service.remove(store, "by-hand")
    assert statuses(store) == {"another": "succeeded"}
    assert not job.exists()
    assert [path.name for path in store.settings.runs_dir.iterdir()] == ["another"]
    with pytest.raises(NotFoundError):
        service.remove(store, "by-hand")


def test_locked_run_cannot_be_removed(store: Home) -> None:
    run_dir = make_unmanaged_run(store)
    statuses(store)
    with run_dir.held(), pytest.raises(ConflictError, match="Another process"):
        service.remove(store, "by-hand")
    assert statuses(store) == {"by-hand": "succeeded"}
