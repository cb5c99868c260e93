"""Child processes on this machine."""

import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.runs.executors.base import ChildExit, ChildJob
from tunix_rt.runs.executors.processes import is_gone, is_here, kill_until_none, processes_with, wait_until
from tunix_rt.runs.executors.supervisor import CANNOT_WRITE, KILL, MARK_VARIABLE, STOP
from tunix_rt.runs.files import JobDir, still_running

ERROR_VARIABLE = "TUNIX_RT_ERROR_FILE"
"""Where the command line of the child writes its error as JSON: code, detail, next_step, exit_code."""
_SUPERVISOR = (sys.executable, "-m", "tunix_rt.runs.executors.supervisor")
_SIGNAL_EXIT_BASE = 128
# Time for a supervisor to exit after the grace period of its engine.
_SUPERVISOR_S = 10.0


class LocalExecutor:
    """Starts engines as processes on this machine. They end with the worker, however it ends."""

    name = "local"

    def __init__(self, *, grace_s: float = 30.0) -> None:
        self._grace_s = grace_s

    def start(self, job: ChildJob) -> "LocalChild":
        """Start the supervisor of one attempt, which starts the engine.

        Both print into the output file and so hold its lock: no other attempt can open it before both are
        gone, even if this worker dies before `child.json` is written.
        """
        mark = f"{job.job_dir.run_id}/{secrets.token_hex(8)}"
        marks = {MARK_VARIABLE: mark, ERROR_VARIABLE: str(job.job_dir.error.absolute())}
        orders = (str(job.job_dir.path), str(job.attempt), str(job.grace_s), sys.executable, *job.command)
        with storage_errors("starting a run"), job.job_dir.open_output(is_exclusive=True) as output:
            job.job_dir.child.unlink(missing_ok=True)  # of an earlier attempt
            job.job_dir.error.unlink(missing_ok=True)
            supervisor = subprocess.Popen(
                [*_SUPERVISOR, *orders],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **job.environment, **marks},
                start_new_session=True,
            )
        return LocalChild(supervisor, job, mark)

    def adopt_or_clear(self, job_dir: JobDir) -> None:
        """Wait for an earlier attempt that is stopping, then kill whatever is left of it."""

        def is_gone_or_orphaned() -> bool:
            if not job_dir.is_output_held():
                return True
            supervisor = job_dir.read_child()  # None while the attempt starts
            return supervisor is not None and is_gone(supervisor.pid, supervisor.process_start)

        wait_until(is_gone_or_orphaned, within_s=self._grace_s + _SUPERVISOR_S)
        earlier = job_dir.read_child()
        if earlier is not None and is_here(earlier.process_start):
            if not is_gone(earlier.pid, earlier.process_start):
                with suppress(ProcessLookupError):
                    os.kill(earlier.pid, signal.SIGKILL)
            _clear(earlier.mark)
            wait_until(lambda: not job_dir.is_output_held(), within_s=_SUPERVISOR_S)
        if job_dir.is_output_held():
            raise still_running(job_dir.run_id)

    def newest_step(self, run_dir: RunDir) -> int:
        """The newest of the run's own checkpoints."""
        return max(saved_steps(run_dir), default=0)


class LocalChild:
    """An attempt on this machine. The pipe to its supervisor carries orders, and ends if the worker dies."""

    def __init__(self, supervisor: "subprocess.Popen[bytes]", job: ChildJob, mark: str) -> None:
        self._supervisor = supervisor
        self._job = job
        self._mark = mark
        self._exit: ChildExit | None = None

    def poll(self) -> ChildExit | None:
        """How it ended; None while any process of it runs."""
        exit_code = self._supervisor.poll()
        if exit_code is not None and self._exit is None:
            self._exit = self._ended(exit_code)
        return self._exit

    def stop(self) -> None:
        """Ask it to save and stop; its supervisor kills it after the grace."""
        self._order(STOP)

    def kill(self) -> None:
        """Kill it at once, with everything that it started."""
        self._order(KILL)

    def close(self) -> None:
        """Close the lifeline, wait for the supervisor and kill what is left."""
        assert self._supervisor.stdin is not None
        with suppress(BrokenPipeError):
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(self._job.grace_s + _SUPERVISOR_S)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
            _clear(self._mark)

    def _order(self, order: bytes) -> None:
        assert self._supervisor.stdin is not None
        with suppress(BrokenPipeError, ValueError):  # it has ended, or was closed
            self._supervisor.stdin.write(order)

    def _ended(self, exit_code: int) -> ChildExit:
        record = self._job.job_dir.read_exit(self._mark)
        if record is not None:
            detail = "" if record.stop_reason is None else f"It was stopped: {record.stop_reason}."
            return ChildExit(record.code, record.signal, detail, was_killed=record.was_killed)
        _clear(self._mark)
        if exit_code < 0:
            killed_by = signal.Signals(-exit_code).name
            return ChildExit(None, detail=f"Its supervisor was killed by {killed_by}.")
        if exit_code == CANNOT_WRITE:
            return ChildExit(None, detail="The job directory cannot be written.")
        if exit_code > _SIGNAL_EXIT_BASE:
            return ChildExit(None, exit_code - _SIGNAL_EXIT_BASE)
        return ChildExit(exit_code)


def saved_steps(run_dir: RunDir) -> list[int]:
    """The steps of the run's own checkpoints, sorted."""
    names = os.listdir(run_dir.checkpoints) if run_dir.checkpoints.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


def _clear(mark: str) -> None:
    kill_until_none(lambda: processes_with(MARK_VARIABLE, mark), within_s=_SUPERVISOR_S)
