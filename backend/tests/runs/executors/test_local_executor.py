"""Children of every kind of bad manners, each a real process under a real supervisor."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.jobs import PATIENCE_S, ended, make_job, number_in, wait_for

from tunix_rt.base.errors import StorageError
from tunix_rt.runs.executors.base import ChildExit, Job
from tunix_rt.runs.executors.local import LocalChild, LocalExecutor
from tunix_rt.runs.executors.processes import descendants, is_gone, process_start

EXECUTOR = LocalExecutor(grace_s=PATIENCE_S)
# Says who it is when it is ready, in the run directory.
READY = """
import os, signal, sys, time
def path_of(name):
    return os.path.join(os.environ["RUN"], name)
def ready(name="ready"):
    with open(path_of(name), "w") as file:
        file.write(f"{os.getpid()}\\n")
"""
STUBBORN = READY + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\ntime.sleep(600)"
POLITE = READY + "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nready()\ntime.sleep(600)"
# A daemon: forked twice, in a session of its own, deaf to SIGTERM. Who started it goes on once it was seen.
FORKING = (
    READY
    + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ready("grandchild")
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists(path_of("seen")):
    time.sleep(0.01)
ready()
"""
)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a supervisor")


@contextmanager
def started(job: Job) -> Iterator[LocalChild]:
    child = EXECUTOR.start(job)
    try:
        yield child
    finally:
        child.kill()
        child.close()


def pid_of(job: Job, name: str = "ready") -> tuple[int, str]:
    """A process that has announced itself: its pid and its start."""
    pid = wait_for(lambda: number_in(job.run_dir.path / name))
    start = process_start(pid)
    assert start is not None
    return pid, start


def pid_of_daemon(job: Job) -> tuple[int, str]:
    daemon = pid_of(job, "grandchild")
    (job.run_dir.path / "seen").touch()
    return daemon


def run(job: Job) -> ChildExit:
    with started(job) as child:
        return ended(child)


@pytest.mark.parametrize("code", [0, 3, 143])
def test_exit_is_reported(tmp_path: Path, code: int) -> None:
    assert run(make_job(tmp_path, f"raise SystemExit({code})")) == ChildExit(code)


def test_fatal_signal_is_reported(tmp_path: Path) -> None:
    job = make_job(tmp_path, "import os; os.kill(os.getpid(), 11)")
    assert run(job) == ChildExit(None, signal.SIGSEGV)


def test_stop_lets_child_save(tmp_path: Path) -> None:
    job = make_job(tmp_path, POLITE)
    with started(job) as child:
        pid_of(job)
        child.stop()
        child.stop()
        how = ended(child)
    assert (how.code, how.was_killed) == (143, False)
    assert "told to stop" in how.detail


def test_stubborn_child_is_killed_after_grace(tmp_path: Path) -> None:
    job = make_job(tmp_path, STUBBORN, grace_s=0.1)
    with started(job) as child:
        engine = pid_of(job)
        child.stop()
        how = ended(child)
    assert (how.code, how.signal, how.was_killed) == (None, signal.SIGKILL, True)
    assert is_gone(*engine)


def test_kill_skips_grace_period(tmp_path: Path) -> None:
    job = make_job(tmp_path, STUBBORN, grace_s=10_000.0)
    with started(job) as child:
        pid_of(job)
        child.kill()
        assert ended(child).was_killed


@linux_only
def test_daemon_dies_with_child(tmp_path: Path) -> None:
    job = make_job(tmp_path, FORKING)
    with started(job) as child:
        grandchild = pid_of_daemon(job)
        assert ended(child) == ChildExit(0)
    assert is_gone(*grandchild)


@linux_only
def test_supervisor_death_kills_descendants(tmp_path: Path) -> None:
    job = make_job(tmp_path, FORKING + "time.sleep(600)")
    with started(job) as child:
        grandchild, engine = pid_of_daemon(job), pid_of(job)
        record = job.job_dir.read_child()
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        how = ended(child)
    assert how.code is None
    assert "supervisor was killed by SIGKILL" in how.detail
    assert is_gone(*engine)
    assert is_gone(*grandchild)


def test_binary_output_is_preserved(tmp_path: Path) -> None:
    job = make_job(tmp_path, "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)")
    assert run(job) == ChildExit(0)
    assert job.job_dir.output.read_bytes() == bytes(range(256)) * 1000


def test_100_mb_line_reaches_output_file(tmp_path: Path) -> None:
    chunk = "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)"
    job = make_job(tmp_path, chunk)
    assert run(job) == ChildExit(0)
    assert job.job_dir.output.stat().st_size == 100_000_000
    assert len(job.job_dir.output_tail()) < 100_000


def test_burst_loses_no_line(tmp_path: Path) -> None:
    job = make_job(tmp_path, "for number in range(100_000): print('line', number)")
    assert run(job) == ChildExit(0)
    lines = job.job_dir.output.read_text().splitlines()
    assert lines == [f"line {number}" for number in range(100_000)]


def test_close_stops_child(tmp_path: Path) -> None:
    job = make_job(tmp_path, POLITE)
    child = EXECUTOR.start(job)
    engine = pid_of(job)
    child.close()
    how = child.poll()
    assert how is not None
    assert (how.code, "worker is gone" in how.detail) == (143, True)
    assert is_gone(*engine)


@linux_only
def test_clear_waits_for_orphaned_daemon(tmp_path: Path) -> None:
    job = make_job(tmp_path, FORKING + "time.sleep(600)")
    with started(job):
        grandchild = pid_of(job, "grandchild")
        record = job.job_dir.read_child()
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        EXECUTOR.adopt_or_clear(job.job_dir)
        assert is_gone(*grandchild)


def test_clear_kills_stubborn_attempt(tmp_path: Path) -> None:
    job = make_job(tmp_path, STUBBORN, grace_s=10_000.0)
    impatient = LocalExecutor(grace_s=-10.0)
    with started(job) as child:
        engine = pid_of(job)
        impatient.adopt_or_clear(job.job_dir)
        assert ended(child).code is None
    assert is_gone(*engine)


def test_start_refuses_while_attempt_lives(tmp_path: Path) -> None:
    job = make_job(tmp_path, POLITE)
    with started(job):
        engine = pid_of(job)
        with pytest.raises(StorageError, match="earlier attempt at run is still running"):
            EXECUTOR.start(make_job(tmp_path, POLITE, attempt=2))
        assert not is_gone(*engine)
        assert job.job_dir.read_child() is not None


def test_unannounced_supervisor_blocks_clear(tmp_path: Path) -> None:
    """Its worker was killed right after it had started it: all that is written is of the attempt before."""
    assert run(make_job(tmp_path, "")) == ChildExit(0)
    job = make_job(tmp_path, POLITE, attempt=2)
    child, supervisor = started_and_frozen(job)
    try:
        with pytest.raises(StorageError, match="still running"):
            LocalExecutor(grace_s=-10.0).adopt_or_clear(job.job_dir)
    finally:
        os.kill(supervisor, signal.SIGCONT)
        child.close()
    EXECUTOR.adopt_or_clear(job.job_dir)
    assert run(make_job(tmp_path, "", attempt=3)) == ChildExit(0)


def test_clear_waits_for_starting_attempt(tmp_path: Path) -> None:
    job_dir = make_job(tmp_path, "").job_dir
    output = job_dir.open_output(is_exclusive=True)  # as its supervisor has it before it writes child.json
    threading.Timer(0.5, output.close).start()
    EXECUTOR.adopt_or_clear(job_dir)
    assert output.closed


def started_and_frozen(job: Job) -> tuple[LocalChild, int]:
    """A child whose supervisor has written nothing yet, and the pid of that."""
    before = descendants(os.getpid())
    child = EXECUTOR.start(job)
    (supervisor,) = set(descendants(os.getpid())) - set(before)
    os.kill(supervisor, signal.SIGSTOP)
    os.waitpid(supervisor, os.WUNTRACED)
    job.job_dir.child.unlink(missing_ok=True)  # should it have been quick
    return child, supervisor


def test_reused_pid_is_left_alone(tmp_path: Path) -> None:
    job = make_job(tmp_path, "")
    job.job_dir.path.mkdir(parents=True)
    start = process_start(os.getpid())
    assert start is not None
    job.job_dir.child.write_text(
        f'{{"attempt": 1, "pid": {os.getpid()}, "process_start": "{start}0", "mark": "earlier"}}'
    )
    EXECUTOR.adopt_or_clear(job.job_dir)  # would have ended this very process
