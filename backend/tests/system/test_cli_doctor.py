"""`tunix-rt doctor` on a working machine and on broken ones."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.children import environment, run_here, run_program
from support.queued_runs import claimed, make_worker, queued

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.select import has_nvidia_gpu, probe
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.system.doctor import diagnose, home_problems, hub_tokens, service_report

REPORT_MODULES = """
import json, sys
from tunix_rt.cli.main import app
app(["doctor", "--json"], standalone_mode=False)
sys.stderr.write(json.dumps(sorted({"jax", "torch", "transformers", "optax"} & set(sys.modules))))
"""


@pytest.fixture
def fake_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose modules shadow the installed ones in subprocesses, to fake broken installations."""
    directory = tmp_path / "fake_modules"
    directory.mkdir()
    monkeypatch.syspath_prepend(str(directory))
    search_path = [str(directory), *filter(None, [environment().get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", ":".join(search_path))
    return directory


def test_doctor_reports_without_loading_engines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPORT_MODULES],
        env=environment(Settings(home=tmp_path / "home"), OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr.splitlines()[-1]) == []
    diagnosis = json.loads(done.stdout)
    assert [engine["name"] for engine in diagnosis["engines"]] == ["jax", "torch"]
    assert all(engine["devices"][-1]["platform"] == "cpu" for engine in diagnosis["engines"])
    assert diagnosis["database"]["kind"] == "sqlite"
    assert diagnosis["free_disk_bytes"] > 0
    assert diagnosis["auto_engine"].startswith("engine ")
    assert diagnosis["service"]["workers"] == []
    assert diagnosis["problems"] == []


def test_broken_engines_exit_1(tmp_path: Path, fake_modules: Path) -> None:
    (fake_modules / "jax.py").write_text("raise SystemError('this jaxlib is of another version')")
    (fake_modules / "torch.py").write_text(
        "raise ImportError('libcudart.so.13: cannot open shared object file')"
    )
    done = run_program("doctor", settings=Settings(home=tmp_path / "home"), COLUMNS="200")
    assert done.returncode == 1
    assert "broken: The jax engine on the CPU exited with code 1" in done.stdout
    assert "this jaxlib is of another version" in done.stdout
    assert "libcudart.so.13: cannot open shared object file" in done.stdout
    assert "next:   Check the driver" in done.stdout


def test_hanging_engine_times_out(fake_modules: Path) -> None:
    (fake_modules / "torch.py").write_text("import time\ntime.sleep(600)")
    answer = probe("torch", "cpu", timeout_s=1.5)
    assert answer.problem is not None
    assert answer.problem.detail == "The torch engine on the CPU did not answer within 2 s."


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has an NVIDIA GPU")
def test_missing_gpu_gives_next_step() -> None:
    answer = probe("torch", "gpu")
    assert answer.device is None
    assert answer.problem is not None
    assert "--device cpu" in answer.problem.next_step


def test_uncreatable_home_is_a_problem(tmp_path: Path, fake_modules: Path) -> None:
    (fake_modules / "jax.py").write_text("raise ImportError")
    (fake_modules / "torch.py").write_text("raise ImportError")
    (tmp_path / "file").touch()
    diagnosis = diagnose(Settings(home=tmp_path / "file" / "home"))
    assert "creating the home directory" in diagnosis.problems[0].detail.lower()
    assert diagnosis.database is None


def test_parity_flags_require_parity(tmp_path: Path) -> None:
    done = run_here("doctor", "--steps", "3", settings=Settings(home=tmp_path))
    assert done.returncode == 2
    assert "Add --parity RECIPE" in done.stderr


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_doctor_counts_runs_and_workers(store: Home) -> None:
    claimed(store, "taken", worker_id="worker-a")
    queued(store, "waiting")
    seen = {"last_seen_at": NOW - timedelta(seconds=10)}
    WorkerRepository(store.database).register(make_worker("worker-a", **seen))
    WorkerRepository(store.database).register(make_worker("worker-b", status="stopped", **seen))
    report, problems = service_report(store, NOW)
    assert (report.num_running, report.is_queue_paused) == (1, False)
    assert [worker.worker_id for worker in report.workers] == ["worker-a"]
    assert report.workers[0].last_seen_s_ago == 10
    assert problems == ()


def test_doctor_reports_missing_workers(store: Home) -> None:
    claimed(store, "orphan", worker_id="worker-a")
    queued(store, "waiting")
    WorkerRepository(store.database).register(
        make_worker("worker-a", last_seen_at=NOW - timedelta(minutes=10))
    )
    _, problems = service_report(store, datetime.now(UTC))
    waiting, orphaned = problems
    assert waiting.detail == "Runs are waiting (1), and no worker is alive."
    assert "orphan has not been seen" in orphaned.detail
    assert "tunix-rt worker" in orphaned.next_step


def test_low_disk_space_is_a_problem(tmp_path: Path) -> None:
    assert list(home_problems(Settings(home=tmp_path), 2**31)) == []
    (problem,) = home_problems(Settings(home=tmp_path), 2**20)
    assert "Only 1 MiB are free" in problem.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_directory_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir(mode=0o500)
    (problem,) = home_problems(Settings(home=tmp_path), 2**31)
    assert str(tmp_path / "jobs") in problem.detail


def test_hub_tokens_are_located_not_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_secret")
    found = hub_tokens({"HF_HOME": str(tmp_path), "KAGGLE_KEY": "secret-of-kaggle", "OPENAI_API_KEY": ""})
    assert [(token.hub, token.found_in) for token in found][:2] == [
        ("Hugging Face", f"{tmp_path}/token"),
        ("Kaggle", "KAGGLE_KEY"),
    ]
    assert found[2].found_in is None
    assert "secret" not in repr(found).replace(str(tmp_path), "")
