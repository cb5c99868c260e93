"""Workers that are stopped, killed, disconnected or out of disk: no run is lost, doubled or left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from support.jobs import number_in, wait_for
from support.postgres import restartable_postgres
from support.queued_runs import kinds, queued
from support.small_disk import small_disk_in
from support.workers import (
    RESUMING,
    STUBBORN,
    SUCCEEDING,
    WAITING,
    run_path,
    start_worker,
    wait_for_run_status,
    working,
)

from tunix_rt.base.db.engine import writing
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.runs.executors.processes import is_gone, process_start
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.types import Slot

TWO_SLOTS = (Slot(device="cpu"), Slot(device="cpu"))
WAITS_FOR_GO = "announce()\nwhile not (run / 'go').exists(): time.sleep(0.01)\n" + SUCCEEDING
FILLS_DISK = """
try:
    with open(run / "big", "wb") as file:
        while True:
            file.write(bytes(65536))
except OSError as error:
    (run / "big").unlink()
    end(1, failure=dict(code="storage", detail=f"No checkpoint: {error}", next_step="Free space."))
"""
sqlite_only = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


@contextmanager
def worker_process(settings: Settings, program: str) -> Iterator["subprocess.Popen[bytes]"]:
    with start_worker(settings, program) as process:
        try:
            yield process
        finally:
            process.kill()


def announced_engine(store: Home) -> tuple[int, str]:
    """Wait until the toy engine has announced itself; return its pid and start time."""
    pid = wait_for(lambda: number_in(run_path(store, "ready")))
    start = process_start(pid)
    assert start is not None
    return pid, start


def test_two_workers_never_share_runs(store: Home, runs: RunRepository) -> None:
    names = [f"run-{number}" for number in range(8)]
    for name in names:
        queued(store, name)
    program = "announce(f'attempt-{os.getpid()}'); " + SUCCEEDING
    with working(store, program, slots=TWO_SLOTS), working(store, program, slots=TWO_SLOTS):
        for name in names:
            wait_for_run_status(store, "succeeded", name)
    for name in names:
        assert runs.get(name).num_attempts == 1
        assert len(list((store.settings.runs_dir / name).glob("attempt-*"))) == 1


@sqlite_only
def test_killed_worker_run_resumes_elsewhere(
    store: Home, settings: Settings, runs: RunRepository, workers: WorkerRepository
) -> None:
    queued(store)
    with worker_process(settings, RESUMING) as worker:
        engine = announced_engine(store)
        worker.kill()
        worker.wait()
        wait_for(lambda: is_gone(*engine))
    with working(store, RESUMING):
        run = wait_for_run_status(store, "succeeded")
    assert run.num_attempts == 2
    assert kinds(store)[2:] == ["started", "lease-lost", "claimed", "started", "succeeded"]
    events = runs.events("run-1")
    assert "has died" in events[3].message
    assert events[5].details["step"] == 5
    assert sorted(worker.status for worker in workers.list()) == ["lost", "stopped"]


@sqlite_only
def test_stopped_worker_returns_its_runs(store: Home, workers: WorkerRepository) -> None:
    queued(store)
    with working(store, WAITING) as loop:
        engine = announced_engine(store)
        loop.stop()
        run = wait_for_run_status(store, "queued")
        wait_for(lambda: [worker.status for worker in workers.list()] == ["stopped"])
    assert is_gone(*engine)
    assert (run.num_failures, run.not_before) == (0, None)
    assert kinds(store)[-2:] == ["stopping", "requeued"]


@sqlite_only
def test_second_stop_kills_immediately(store: Home) -> None:
    queued(store)
    with working(store, STUBBORN) as loop:
        engine = announced_engine(store)
        loop.stop()
        wait_for(lambda: kinds(store)[-1] == "stopping")
        loop.stop()
        wait_for(lambda: is_gone(*engine))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere an engine outlives its supervisor")
@sqlite_only
def test_killed_supervisor_costs_one_retry(store: Home, runs: RunRepository) -> None:
    queued(store)
    with working(store, RESUMING):
        engine = announced_engine(store)
        supervisor = JobDir(store.settings.jobs_dir / "run-1").read_child()
        assert supervisor is not None
        os.kill(supervisor.pid, signal.SIGKILL)
        wait_for_run_status(store, "succeeded")
    assert is_gone(*engine)
    assert kinds(store)[2:] == ["started", "retry", "claimed", "started", "succeeded"]
    assert "supervisor was killed" in runs.events("run-1")[3].message


@sqlite_only
def test_locked_database_does_not_stop_child(store: Home) -> None:
    queued(store)
    with working(store, WAITS_FOR_GO):
        wait_for(lambda: kinds(store)[-1] == "started" and run_path(store, "ready").exists())
        with writing(store.database):
            run_path(store, "go").touch()
            wait_for(run_path(store, "run_manifest.json").exists)
        wait_for_run_status(store, "succeeded")


def test_database_outage_costs_no_attempt(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with restartable_postgres() as server:
        settings = Settings(home=home, database_url=f"{server.url}/postgres")
        with closing(open_home(settings)) as store:
            queued(store)
            with working(store, WAITS_FOR_GO):
                wait_for(lambda: kinds(store)[-1] == "started" and run_path(store, "ready").exists())
                server.stop()
                run_path(store, "go").touch()
                wait_for(run_path(store, "run_manifest.json").exists)
                server.start()
                run = wait_for_run_status(store, "succeeded")
            assert run.num_attempts == 1
            assert kinds(store) == ["submitted", "claimed", "started", "succeeded"]


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_long_outage_saves_and_requeues(store: Home) -> None:
    queued(store)
    with working(store, RESUMING, worker_lease_s=1.0):
        wait_for(run_path(store, "ready").exists)
        with connections_refused(store):
            wait_for(run_path(store, "run_manifest.json").exists)
        run = wait_for_run_status(store, "succeeded")
    # On a busy machine one second is short: the worker may lose the database more than once.
    assert "requeued" in kinds(store)
    assert not {"retry", "lease-lost", "killed"} & set(kinds(store))
    assert run.num_failures == 0


@contextmanager
def connections_refused(store: Home) -> Iterator[None]:
    """Refuse every connection to the database of this store."""
    url = store.database.url
    admin = create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    allow = f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS'
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{url.database}'"
    try:
        with admin.connect() as connection:
            connection.execute(text(f"{allow} false"))
            connection.execute(text(end))
            yield
            connection.execute(text(f"{allow} true"))
    finally:
        admin.dispose()


@contextmanager
def store_on_small_disk(tmp_path: Path, *, megabytes: int) -> Iterator[Home]:
    """A home on a small disk; its database is on another one."""
    with small_disk_in(tmp_path, megabytes=megabytes) as disk:
        settings = Settings(home=disk / "home", database_url=f"sqlite:///{tmp_path / 'tunix_rt.db'}")
        with closing(open_home(settings)) as store:
            yield store


def test_full_disk_retries_then_fails(tmp_path: Path) -> None:
    with store_on_small_disk(tmp_path, megabytes=2) as store:
        queued(store)
        with working(store, FILLS_DISK, run_max_failures=2):
            run = wait_for_run_status(store, "failed")
    assert run.failure is not None
    assert (run.failure.code, run.num_attempts) == ("storage", 2)
    assert "No space left on device" in run.failure.detail


def test_completely_full_disk_is_reported(tmp_path: Path) -> None:
    with store_on_small_disk(tmp_path, megabytes=1) as store:
        queued(store)
        fill(store.settings.home_dir.with_name("big"))
        with working(store, SUCCEEDING, run_max_failures=1):
            run = wait_for_run_status(store, "failed")
    assert run.failure is not None
    assert "disk is full" in run.failure.detail


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
