"""The process between a worker and its engine. Standard library only.

python -m tunix_rt.runs.executors.supervisor JOB_DIR ATTEMPT GRACE_S COMMAND...

Its standard input is the lifeline to the worker: the line `stop` asks the engine to save and stop, `kill`
kills it at once, and the end of the input means that the worker is dead, which counts as a `stop`. The engine
shares the output of this process, a file. An engine that does not stop in time is killed with everything that
it started, and `exit.json` is written only when none of its processes is left. On Linux this process inherits
orphans, including those that forked twice and left their session, and the engine dies with it.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tunix_rt.runs.executors.processes import (
    HAS_PROC,
    descendants,
    kill_until_none,
    process_start,
    wait_until,
)

CANNOT_WRITE = 74
"""Exit code when the job directory cannot be written and nothing was started: EX_IOERR of sysexits.h."""
STOP, KILL = b"stop\n", b"kill\n"
MARK_VARIABLE = "TUNIX_RT_JOB"
_LIFELINE = 0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ORPHAN_GRACE_S = 2.0
_UNKILLABLE_S = 30.0
_SIGNAL_EXIT_BASE = 128


def main(arguments: list[str]) -> int:
    """Run the command to its end; its exit code, or 128 and the signal that ended it."""
    directory, attempt, grace_s, *command = arguments
    job_dir, names = Path(directory), {"attempt": int(attempt), "mark": os.environ[MARK_VARIABLE]}
    die_with_parent = _become_subreaper()
    wake_up = _open_wake_up_pipe()
    me = {"pid": os.getpid(), "process_start": process_start(os.getpid())}
    try:
        _write(job_dir / "child.json", {**names, **me})
    except OSError as error:
        _log(f"the job directory cannot be written: {error}")
        return CANNOT_WRITE
    engine = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent
    )
    watch = _Watch(engine, float(grace_s))
    status = watch.wait(wake_up)
    _end_orphans(engine.pid)
    code = os.waitstatus_to_exitcode(status)
    ended = {"code": code} if code >= 0 else {"signal": -code}
    try:
        _write(job_dir / "exit.json", {**names, **ended, **watch.stop_details()})
    except OSError as error:
        # The worker still gets the exit code of this process.
        _log(f"exit.json could not be written: {error}")
    return code if code >= 0 else _SIGNAL_EXIT_BASE - code


class _Watch:
    """One engine, its stop requests, and its deadline."""

    def __init__(self, engine: "subprocess.Popen[bytes]", grace_s: float) -> None:
        self._engine = engine
        self._grace_s = grace_s
        self._kill_at_s: float | None = None
        self._stop_reason: str | None = None
        self._was_killed = False
        self._is_worker_alive = True
        self._status: int | None = None
        self._signal: int | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._receive)

    def wait(self, wake_up: int) -> int:
        """Wait for the engine while handling orders; returns its wait status."""
        while not self._has_ended():
            watched = [wake_up, _LIFELINE] if self._is_worker_alive else [wake_up]
            kill_at_s = self._kill_at_s
            timeout_s = None if kill_at_s is None else max(0.0, kill_at_s - time.monotonic())
            readable, _, _ = select.select(watched, [], [], timeout_s)
            if wake_up in readable:
                os.read(wake_up, 4096)
            if _LIFELINE in readable:
                order = os.read(_LIFELINE, 4096)
                if not order:
                    self._is_worker_alive = False
                    self._stop("its worker is gone")
                if STOP in order:
                    self._stop("it was told to stop")
                if KILL in order:
                    self._stop("it was told to stop at once")
                    self._kill()
            if self._signal is not None:
                self._stop(f"its supervisor received {signal.Signals(self._signal).name}")
            if self._kill_at_s is not None and time.monotonic() >= self._kill_at_s:
                self._kill()
        assert self._status is not None
        return self._status

    def stop_details(self) -> dict[str, Any]:
        """For exit.json; empty if the engine exited by itself."""
        if self._stop_reason is None:
            return {}
        return {"stop_reason": self._stop_reason, "was_killed": self._was_killed}

    def _receive(self, number: int, _frame: object) -> None:
        self._signal = number

    def _stop(self, reason: str) -> None:
        if self._stop_reason is None:
            self._stop_reason = reason
            self._kill_at_s = time.monotonic() + self._grace_s
            _signal_group(self._engine.pid, signal.SIGTERM)

    def _kill(self) -> None:
        self._was_killed = True
        # Again after a while: a killed process may just have forked.
        self._kill_at_s = time.monotonic() + 1.0
        _signal_group(self._engine.pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        """Reap every dead child, including orphans; whether the engine was among them."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                if pid == self._engine.pid:
                    self._status = status
                    self._engine.returncode = os.waitstatus_to_exitcode(status)
        return self._status is not None


def _become_subreaper() -> Callable[[], None]:
    """Inherit orphans from now on; returns what makes an engine die with this process."""
    if not HAS_PROC:
        return lambda: None
    libc, me = ctypes.CDLL(None), os.getpid()
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def die_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != me:
            os._exit(_SIGNAL_EXIT_BASE + signal.SIGKILL)

    return die_with_parent


def _open_wake_up_pipe() -> int:
    """A descriptor that is readable after any signal, including SIGCHLD."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return readable


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _end_orphans(engine_pid: int) -> None:
    _signal_group(engine_pid, signal.SIGTERM if HAS_PROC else signal.SIGKILL)
    for pid in descendants(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    if not wait_until(lambda: not _living_orphans(), within_s=_ORPHAN_GRACE_S) and not kill_until_none(
        _living_orphans, within_s=_UNKILLABLE_S
    ):
        _log(f"processes that cannot be killed are left: {_living_orphans()}")


def _living_orphans() -> list[int]:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return descendants(os.getpid())


def _write(path: Path, value: dict[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _log(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"supervisor: {text}\n")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
