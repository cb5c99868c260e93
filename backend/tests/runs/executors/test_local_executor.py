"""The local executor with misbehaving children, each a real process under a real supervisor."""

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
# `ready` writes the pid to the run directory.
PRELUDE = """
import os, signal, sys, time
def path_of(name):
    return os.path.join(os.environ["RUN"], name)
def ready(name="ready"):
    with open(path_of(name), "w") as file:
        file.write(f"{os.getpid()}\\n")
"""
IGNORES_SIGTERM = PRELUDE + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\ntime.sleep(600)"
EXITS_ON_SIGTERM = (
    PRELUDE + "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nready()\ntime.sleep(600)"
)
# Starts a daemon (forked twice, own session, SIGTERM ignored) and continues once the test has seen it.
DAEMONIZES = (
    PRELUDE
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

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux reparents orphans to a supervisor"
)


@contextmanager
def start_child(job: Job) -> Iterator[LocalChild]:
    child = EXECUTOR.start(job)
    try:
        yield child
    finally:
        child.kill()
        child.close()


def announced_process(job: Job, name: str = "ready") -> tuple[int, str]:
    """Wait until a process has announced itself; return its pid and start time."""
    pid = wait_for(lambda: number_in(job.run_dir.path / name))
    start = process_start(pid)
    assert start is not None
    return pid, start


def announced_daemon(job: Job) -> tuple[int, str]:
    daemon = announced_process(job, "grandchild")
    (job.run_dir.path / "seen").touch()
    return daemon


def run_job(job: Job) -> ChildExit:
    with start_child(job) as child:
        return ended(child)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("raise SystemExit(0)", ChildExit(0)),
        ("raise SystemExit(3)", ChildExit(3)),
        ("raise SystemExit(143)", ChildExit(143)),
        ("import os; os.kill(os.getpid(), 11)", ChildExit(None, signal.SIGSEGV)),
    ],
)
def test_exit_is_reported(tmp_path: Path, program: str, expected: ChildExit) -> None:
    assert run_job(make_job(tmp_path, program)) == expected


def test_stop_lets_child_save(tmp_path: Path) -> None:
    job = make_job(tmp_path, EXITS_ON_SIGTERM)
    with start_child(job) as child:
        announced_process(job)
        child.stop()
        child.stop()
        exit_ = ended(child)
    assert (exit_.code, exit_.was_killed) == (143, False)
    assert "told to stop" in exit_.detail


def test_stubborn_child_is_killed_after_grace(tmp_path: Path) -> None:
    job = make_job(tmp_path, IGNORES_SIGTERM, grace_s=0.1)
    with start_child(job) as child:
        engine = announced_process(job)
        child.stop()
        exit_ = ended(child)
    assert (exit_.code, exit_.signal, exit_.was_killed) == (None, signal.SIGKILL, True)
    assert is_gone(*engine)


def test_kill_skips_grace_period(tmp_path: Path) -> None:
    job = make_job(tmp_path, IGNORES_SIGTERM, grace_s=10_000.0)
    with start_child(job) as child:
        announced_process(job)
        child.kill()
        assert ended(child).was_killed


@linux_only
def test_daemon_dies_with_child(tmp_path: Path) -> None:
    job = make_job(tmp_path, DAEMONIZES)
    with start_child(job) as child:
        grandchild = announced_daemon(job)
        assert ended(child) == ChildExit(0)
    assert is_gone(*grandchild)


@linux_only
def test_supervisor_death_kills_descendants(tmp_path: Path) -> None:
    job = make_job(tmp_path, DAEMONIZES + "time.sleep(600)")
    with start_child(job) as child:
        grandchild, engine = announced_daemon(job), announced_process(job)
        record = job.job_dir.read_child()
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        exit_ = ended(child)
    assert exit_.code is None
    assert "supervisor was killed by SIGKILL" in exit_.detail
    assert is_gone(*engine)
    assert is_gone(*grandchild)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)", bytes(range(256)) * 1000),
        (
            "for number in range(100_000): print('line', number)",
            b"".join(b"line %d\n" % number for number in range(100_000)),
        ),
    ],
    ids=["binary", "burst"],
)
def test_output_is_preserved(tmp_path: Path, program: str, expected: bytes) -> None:
    job = make_job(tmp_path, program)
    assert run_job(job) == ChildExit(0)
    assert job.job_dir.output.read_bytes() == expected


def test_100_mb_line_reaches_output_file(tmp_path: Path) -> None:
    program = "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)"
    job = make_job(tmp_path, program)
    assert run_job(job) == ChildExit(0)
    assert job.job_dir.output.stat().st_size == 100_000_000
    assert len(job.job_dir.output_tail()) < 100_000


def test_close_stops_child(tmp_path: Path) -> None:
    job = make_job(tmp_path, EXITS_ON_SIGTERM)
    child = EXECUTOR.start(job)
    engine = announced_process(job)
    child.close()
    exit_ = child.poll()
    assert exit_ is not None
    assert (exit_.code, "worker is gone" in exit_.detail) == (143, True)
    assert is_gone(*engine)


@linux_only
def test_clear_waits_for_orphaned_daemon(tmp_path: Path) -> None:
    job = make_job(tmp_path, DAEMONIZES + "time.sleep(600)")
    with start_child(job):
        grandchild = announced_process(job, "grandchild")
        record = job.job_dir.read_child()
        assert record is not None
        os.kill(record.pid, signal.SIGKILL)
        EXECUTOR.adopt_or_clear(job.job_dir)
        assert is_gone(*grandchild)


def test_clear_kills_stubborn_attempt(tmp_path: Path) -> None:
    job = make_job(tmp_path, IGNORES_SIGTERM, grace_s=10_000.0)
    impatient = LocalExecutor(grace_s=-10.0)
    with start_child(job) as child:
        engine = announced_process(job)
        impatient.adopt_or_clear(job.job_dir)
        assert ended(child).code is None
    assert is_gone(*engine)


def test_start_refuses_while_attempt_lives(tmp_path: Path) -> None:
    job = make_job(tmp_path, EXITS_ON_SIGTERM)
    with start_child(job):
        engine = announced_process(job)
        with pytest.raises(StorageError, match="earlier attempt at run is still running"):
            EXECUTOR.start(make_job(tmp_path, EXITS_ON_SIGTERM, attempt=2))
        assert not is_gone(*engine)
        assert job.job_dir.read_child() is not None


def test_unannounced_supervisor_blocks_clear(tmp_path: Path) -> None:
    """Its worker was killed right after starting it, so every record is from the attempt before."""
    assert run_job(make_job(tmp_path, "")) == ChildExit(0)
    job = make_job(tmp_path, EXITS_ON_SIGTERM, attempt=2)
    child, supervisor = start_frozen(job)
    try:
        with pytest.raises(StorageError, match="still running"):
            LocalExecutor(grace_s=-10.0).adopt_or_clear(job.job_dir)
    finally:
        os.kill(supervisor, signal.SIGCONT)
        child.close()
    EXECUTOR.adopt_or_clear(job.job_dir)
    assert run_job(make_job(tmp_path, "", attempt=3)) == ChildExit(0)


def test_clear_waits_for_starting_attempt(tmp_path: Path) -> None:
    job_dir = make_job(tmp_path, "").job_dir
    output = job_dir.open_output(is_exclusive=True)  # as a supervisor does before it writes child.json
    threading.Timer(0.5, output.close).start()
    EXECUTOR.adopt_or_clear(job_dir)
    assert output.closed


def start_frozen(job: Job) -> tuple[LocalChild, int]:
    """Start a child and freeze its supervisor before it writes anything; return both."""
    before = descendants(os.getpid())
    child = EXECUTOR.start(job)
    (supervisor,) = set(descendants(os.getpid())) - set(before)
    os.kill(supervisor, signal.SIGSTOP)
    os.waitpid(supervisor, os.WUNTRACED)
    job.job_dir.child.unlink(missing_ok=True)  # in case it was already written
    return child, supervisor


def test_reused_pid_is_left_alone(tmp_path: Path) -> None:
    job = make_job(tmp_path, "")
    job.job_dir.path.mkdir(parents=True)
    start = process_start(os.getpid())
    assert start is not None
    job.job_dir.child.write_text(
        f'{{"attempt": 1, "pid": {os.getpid()}, "process_start": "{start}0", "mark": "earlier"}}'
    )
    EXECUTOR.adopt_or_clear(job.job_dir)  # would kill this process
