"""Workers with a fake engine of a few lines of Python, in this process or in child processes."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from support.children import environment
from support.jobs import PATIENCE_S, wait_for
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.executors.base import Job
from tunix_rt.runs.executors.local import LocalChild, LocalExecutor
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.types import RunDetail, Slot
from tunix_rt.runs.worker.loop import WorkerLoop

ANY = (Slot(device="auto"),)
# The fake engine writes the same checkpoints, manifests and output as a real one.
ENGINE = """
import json, os, pathlib, signal, sys, time
run = pathlib.Path(os.environ["RUN"])
run.mkdir(parents=True, exist_ok=True)
saved = run / "checkpoints"
def newest():
    return max((int(name) for name in os.listdir(saved)), default=0) if saved.is_dir() else 0
def save(step):
    (saved / str(step)).mkdir(parents=True)
def announce(name="ready"):
    (run / name).write_text(f"{os.getpid()}\\n")
def end(code, status="failed", failure=None):
    moment = "2025-01-01T12:00:00Z"
    manifest = dict(run_id=run.name, status=status, exit_code=code, engine="jax", tunix_rt_version="0",
        model="tiny-llama", dataset="demo-v1", dataset_hash="0", mode="full", is_forced=False,
        started_at=moment, finished_at=moment, durations_s={"all": time.time()}, files={})
    if failure:
        manifest["failure"] = failure
    if status == "succeeded":
        manifest["figures"] = dict(num_steps=newest(), num_planned_steps=9, num_examples=1,
            num_dropped_examples=0, fill_ratio=1.0)
    (run / "run_manifest.json").write_text(json.dumps(manifest))
    sys.exit(code)
def until_stopped():
    signal.signal(signal.SIGTERM, lambda *_: end(143, "cancelled"))
    announce()
    while True:
        time.sleep(0.01)
"""
SUCCEEDING = "end(0, 'succeeded')"
WAITING = "save(newest() + 5); until_stopped()"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); announce(); time.sleep(600)"
# Waits on its first attempt, and succeeds when it resumes from a checkpoint.
RESUMING = "if newest():\n    end(0, 'succeeded')\n" + WAITING


class ProgramExecutor(LocalExecutor):
    """Starts the fake engine in place of a real one."""

    def __init__(self, program: str) -> None:
        super().__init__(grace_s=PATIENCE_S)
        self._program = ENGINE + program

    def start(self, job: Job) -> LocalChild:
        environ = {"RUN": str(job.run_dir.path), "ATTEMPT": str(job.attempt), "ASKED": " ".join(job.command)}
        command = ("-S", "-c", self._program)
        return super().start(replace(job, command=command, environment=job.environment | environ))


def quick(settings: Settings, **values: object) -> Settings:
    """Return settings for the same store with short worker intervals."""
    intervals = {"worker_beat_s": 0.1, "worker_poll_s": 0.1, "cancel_grace_s": PATIENCE_S}
    return settings.model_copy(update=intervals | values)


@contextmanager
def working(
    store: Home, program: str, *, slots: Sequence[Slot] = ANY, evaluation: str = "", **values: object
) -> Iterator[WorkerLoop]:
    """Run a worker in this process until the context ends; `values` override its settings."""
    own = replace(store, settings=quick(store.settings, **values))
    loop = WorkerLoop(own, slots, ProgramExecutor(program), evaluator=ProgramExecutor(evaluation))
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        yield loop
    finally:
        loop.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def start_worker(settings: Settings, program: str) -> "subprocess.Popen[bytes]":
    """Start a worker process. The caller must stop it."""
    command = [sys.executable, "-m", "support.worker_child", program]
    return subprocess.Popen(command, env=environment(settings, PYTHONPATH=":".join(sys.path)))


def wait_for_run_status(store: Home, status: RunStatus, run_id: str = "run-1") -> RunDetail:
    """Wait until the run has this status and return it."""
    wait_for(lambda: RunRepository(store.database).status_of(run_id).status == status)
    return RunRepository(store.database).get(run_id)


def run_path(store: Home, name: str, run_id: str = "run-1") -> Path:
    """Return the path of a file that the fake engine writes."""
    return store.settings.runs_dir / run_id / name
