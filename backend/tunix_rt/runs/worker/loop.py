"""The worker process: claim, start attempts, drain."""

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from types import FrameType

from tunix_rt import __version__
from tunix_rt.base.errors import StorageError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.base.signals import stop_signals
from tunix_rt.runs.executors.base import Executor
from tunix_rt.runs.executors.local import LocalExecutor
from tunix_rt.runs.executors.processes import process_start, wait_until
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.types import ExecutorName, LeaseBeat, Slot, Worker, WorkerStatus
from tunix_rt.runs.worker.attempt import Attempt, RunAttempt, TaskAttempt, WorkerContext
from tunix_rt.runs.worker.heartbeat import Heartbeat, Maintenance

logger = logging.getLogger(__name__)

Chore = Callable[[Home, str], None]
"""Periodic maintenance for the whole home; called with the home and the id of the worker."""

_LIFELINE = 0
_SIGNAL_EXIT_BASE = 128
# Time for children and the database after a request to end at once.
_KILL_GRACE_S = 5.0


class WorkerLoop:
    """One worker: its free slots and running attempts."""

    def __init__(
        self,
        home: Home,
        slots: Sequence[Slot],
        executor: Executor,
        *,
        evaluator: Executor | None = None,
        chores: Mapping[str, Chore] = {},
    ) -> None:
        self._home = home
        self._settings = home.settings
        self.worker = this_worker(slots)
        self._chores = {what: partial(chore, home, self.worker.worker_id) for what, chore in chores.items()}
        self._executor_name: ExecutorName = "ray" if executor.name == "ray" else "local"
        self._heartbeat = Heartbeat(home, self.worker)
        self._must_exit = threading.Event()
        local = LocalExecutor(grace_s=self._settings.cancel_grace_s)
        self._context = WorkerContext(
            home, executor, evaluator or local, local, self._heartbeat, self._must_exit
        )
        # A slot for one device is used before a slot for any.
        self._free = sorted(slots, key=lambda slot: slot.device == "auto")
        self._attempts: dict[Attempt, threading.Thread] = {}
        self._claiming = threading.Lock()
        self._must_stop = threading.Event()
        self._wake_up = threading.Event()

    def stop(self) -> None:
        """Claim nothing more and requeue what runs; the second call does so at once."""
        if self._must_stop.is_set():
            self._must_exit.set()
        self._must_stop.set()
        self._wake_up.set()

    def run(self) -> int:
        """Work until told to stop; returns the exit code."""
        WorkerRepository(self._home.database).register(self.worker)
        logger.info("worker %s takes runs on %s", self.worker.worker_id, ", ".join(map(str, self._free)))
        maintenance = Maintenance(self._home, self.worker.worker_id, self._leases, chores=self._chores)
        beat_s, is_over = self._settings.worker_beat_s, threading.Event()
        heartbeat_thread = _start_thread(self._heartbeat.run, beat_s)
        maintenance_thread = _start_thread(maintenance.run, beat_s, is_over)
        try:
            # Without heartbeats this worker would lose every claim: it exits, and is started again.
            while not self._must_stop.is_set() and heartbeat_thread.is_alive():
                self._take_runs()
                self._wake_up.wait(self._settings.worker_poll_s)
                self._wake_up.clear()
            self._drain()
        finally:
            is_over.set()
            self._heartbeat.end()
        maintenance_thread.join(_KILL_GRACE_S)
        self._set_status("stopped")
        if self._must_exit.is_set():
            return _SIGNAL_EXIT_BASE + signal.SIGTERM
        return 0 if self._must_stop.is_set() else 1

    def _take_runs(self) -> None:
        for attempt, thread in list(self._attempts.items()):
            if not thread.is_alive():
                del self._attempts[attempt]
                self._free = sorted([*self._free, attempt.slot], key=lambda slot: slot.device == "auto")
        while self._free and not self._must_stop.is_set():
            try:
                claimed = self._claim_next()
            except StorageError as error:
                logger.debug("no run can be taken while the database is away: %s", error)
                return
            if claimed is None:
                return
            logger.info("%s is taken on %s", claimed.lease.run_id, claimed.slot)
            self._attempts[claimed] = _start_thread(self._work, claimed)

    def _claim_next(self) -> Attempt | None:
        # Under a lock: maintenance must find every lease of this worker among the kept ones.
        with self._claiming:
            # Tasks first: they are short, and a user waits for them.
            database, worker_id = self._home.database, self.worker.worker_id
            attempt: Attempt
            if task := TaskRepository(database).claim(worker_id, self._free):
                attempt = TaskAttempt(self._context, task, self._take_slot(task.task.request.device))
            elif run := RunRepository(database).claim(worker_id, self._free, self._executor_name):
                attempt = RunAttempt(self._context, run, self._take_slot(run.run.device))
            else:
                return None
            self._heartbeat.add(attempt)
        return attempt

    def _take_slot(self, device: str) -> Slot:
        slot = next(slot for slot in self._free if slot.takes(device))
        self._free.remove(slot)
        return slot

    def _work(self, attempt: Attempt) -> None:
        try:
            attempt.run()
        finally:
            self._wake_up.set()

    def _leases(self) -> tuple[tuple[LeaseBeat, ...], frozenset[str]]:
        """Every lease in force, and the tokens of those kept here."""
        with self._claiming:
            leases = (
                *RunRepository(self._home.database).leases(),
                *TaskRepository(self._home.database).leases(),
            )
            return leases, self._heartbeat.tokens()

    def _drain(self) -> None:
        logger.info("worker %s stops %d runs", self.worker.worker_id, len(self._attempts))
        self._set_status("draining")
        for attempt in self._attempts:
            attempt.request_stop("drain")
        settings = self._settings
        # Children stop within the grace period; then the database has one more lease to come back.
        timeout_s = settings.cancel_grace_s + settings.worker_lease_s + _KILL_GRACE_S
        wait_until(lambda: self._must_exit.is_set() or not self._is_busy(), within_s=timeout_s)
        if self._is_busy():
            self._must_exit.set()
            for attempt in self._attempts:
                attempt.kill()
            wait_until(lambda: not self._is_busy(), within_s=_KILL_GRACE_S)

    def _is_busy(self) -> bool:
        return any(thread.is_alive() for thread in self._attempts.values())

    def _set_status(self, status: WorkerStatus) -> None:
        try:
            WorkerRepository(self._home.database).set_status(self.worker.worker_id, status)
        except StorageError as error:
            logger.warning("the status of the worker could not be set to %s: %s", status, error)


def run_worker(
    settings: Settings,
    slots: Sequence[Slot],
    *,
    executor_name: ExecutorName,
    is_on_lifeline: bool = False,
    chores: Mapping[str, Chore] = {},
) -> int:
    """Work for the queue of `settings` until a signal or the end of the lifeline; returns the exit code."""
    with closing(open_home(settings)) as home, ExitStack() as until_end:
        executor: Executor = LocalExecutor(grace_s=settings.cancel_grace_s)
        if executor_name == "ray":
            # Imported here: it needs an optional extra.
            from tunix_rt.runs.executors.ray.executor import RayExecutor

            executor = until_end.enter_context(closing(RayExecutor(settings)))
        return work(WorkerLoop(home, slots, executor, chores=chores), is_on_lifeline=is_on_lifeline)


def work(loop: WorkerLoop, *, is_on_lifeline: bool = False) -> int:
    """Run the loop as the main task of this process."""

    def receive(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:  # sent twice when a terminal closes: not a second request
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        loop.stop()

    def stop_when_lifeline_closes() -> None:
        # The parent holds the other end of standard input, and has exited when it ends.
        while os.read(_LIFELINE, 4096):
            pass
        loop.stop()

    for number in stop_signals():
        signal.signal(number, receive)
    if is_on_lifeline:
        _start_thread(stop_when_lifeline_closes)
    return loop.run()


def this_worker(slots: Sequence[Slot]) -> Worker:
    """The record of this process."""
    start = process_start(os.getpid())
    assert start is not None
    host, now = socket.gethostname(), datetime.now(UTC)
    return Worker(
        worker_id=f"{host[:32]}-{os.getpid()}-{secrets.token_hex(3)}",
        host=host,
        pid=os.getpid(),
        process_start=start,
        version=__version__,
        slots=tuple(slots),
        status="active",
        started_at=now,
        last_seen_at=now,
        beats=0,
    )


def _start_thread(target: Callable[..., object], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread
