"""One attempt at a task."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tunix_rt.base.errors import StorageError, TunixRTError
from tunix_rt.base.logs import redacted
from tunix_rt.engines.training.types import RunFailure, RunStatus
from tunix_rt.runs.executors.base import ChildExit, task_job
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import TaskClaim, TaskResult
from tunix_rt.runs.types import BeatAnswer, Lease, Slot, backoff_s
from tunix_rt.runs.worker.attempt import StopController, WorkerContext
from tunix_rt.runs.worker.outcome import StopReason, describe_exit, printed_error


@dataclass(frozen=True)
class TaskEnd:
    """Everything that decides what comes next."""

    task_id: str
    exit: ChildExit
    stop_reason: StopReason | None
    num_failures: int
    """Before this end."""
    result: TaskResult | None = None
    """What the child wrote last of all."""
    output_tail: str = ""


@dataclass(frozen=True)
class FinishedTask:
    """The task has ended."""

    status: RunStatus
    failure: RunFailure | None = None
    result: TaskResult | None = None


@dataclass(frozen=True)
class RequeuedTask:
    """The task goes back into the queue."""

    num_failures: int
    wait_s: float = 0.0


def task_outcome(end: TaskEnd, *, max_failures: int) -> FinishedTask | RequeuedTask:
    """What becomes of the task.

    A child that ended by itself has said why, and would say it again; one that was lost is tried again.

    Example:
        exit code 0 with a result -> succeeded; killed by a signal that nobody here sent -> back in the queue
    """
    if end.exit.code == 0 and end.result is not None:
        return FinishedTask("succeeded", result=end.result)
    if end.stop_reason == "cancel":
        return FinishedTask("cancelled")
    if end.stop_reason is not None:
        return RequeuedTask(end.num_failures)
    num_failures = end.num_failures + 1
    if end.exit.code is not None or num_failures >= max_failures:
        return FinishedTask("failed", failure=_failure(end))
    return RequeuedTask(num_failures, backoff_s(num_failures))


def refused(error: TunixRTError) -> FinishedTask:
    """The end of a task that could not even be started."""
    failure = RunFailure(code=error.code, detail=redacted(error.detail), next_step=redacted(error.next_step))
    return FinishedTask("failed", failure=failure)


def _failure(end: TaskEnd) -> RunFailure:
    printed = printed_error(end.output_tail) if end.exit.signal is None else None
    detail, next_step = printed or (
        describe_exit(end.exit),
        f"Read what it printed: tunix-rt tasks show {end.task_id}",
    )
    return RunFailure(code=TunixRTError.code, detail=redacted(detail), next_step=redacted(next_step))


logger = logging.getLogger(__name__)


class TaskAttempt:
    """A claimed task in the hands of this worker. `run` is its story; any thread may call the rest."""

    def __init__(self, context: WorkerContext, claim: TaskClaim, slot: Slot) -> None:
        self._context = context
        self._settings = context.home.settings
        self._claim = claim
        self._dir = TaskDir(self._settings.tasks_dir / claim.lease.run_id)
        self.slot = slot
        self._is_lost = False
        self._stop_controller = StopController(context.heartbeat, lease_s=self._settings.worker_lease_s)

    @property
    def lease(self) -> Lease:
        """The right to the task."""
        return self._claim.lease

    def on_beat(self, answer: BeatAnswer) -> None:
        """Somebody may have cancelled the task."""
        if answer.status == "cancelling":
            self.ask("cancel")

    def ask(self, reason: StopReason) -> None:
        """Stop; an evaluation keeps the answers that it has."""
        self._stop_controller.ask(reason)

    def lose(self) -> None:
        """The task is another worker's now: end everything, write nothing more."""
        self._is_lost = True
        self.kill()

    def kill(self) -> None:
        """End the child at once."""
        self._stop_controller.kill()

    def write_notes(self) -> None:
        """There are none: what a task says of itself lies in its directory."""

    def run(self) -> None:
        """Do it, and write down how it ended."""
        try:
            self._write_end(self._done())
        finally:
            # Whatever happens: a task that nobody works on must not keep its lease.
            self._context.heartbeat.remove(self)

    def _done(self) -> FinishedTask | RequeuedTask:
        try:
            job = task_job(self._settings, self._claim.task, self.slot)
            executor = self._context.task_executor
            executor.adopt_or_clear(job.job_dir)
            self._dir.clear()
            how = self._stop_controller.watch(lambda: executor.start(job), lambda _reason: None)
        except TunixRTError as error:
            return refused(error)
        end = TaskEnd(
            self.lease.run_id,
            how,
            self._stop_controller.reason,
            self._claim.task.num_failures,
            result=self._dir.read_result(),
            output_tail=job.job_dir.output_tail(),
        )
        return task_outcome(end, max_failures=self._settings.run_max_failures)

    def _write_end(self, end: FinishedTask | RequeuedTask) -> None:
        """Write the end, as often as it takes: what was made is on the disk, only the queue is behind."""
        while not self._is_lost:
            try:
                self._write(end)
            except StorageError as error:
                logger.warning("the end of the task %s is not written yet: %s", self.lease.run_id, error)
                if self._context.must_exit.wait(self._settings.worker_beat_s):
                    return
            else:
                return

    def _write(self, end: FinishedTask | RequeuedTask) -> None:
        tasks = TaskRepository(self._context.home.database)
        if isinstance(end, FinishedTask):
            if end.status != "succeeded":
                self._dir.clear()
            tasks.finish(self.lease, end.status, failure=end.failure, result=end.result)
            return
        not_before = datetime.now(UTC) + timedelta(seconds=end.wait_s) if end.wait_s else None
        tasks.requeue(self.lease, not_before=not_before, num_failures=end.num_failures)
