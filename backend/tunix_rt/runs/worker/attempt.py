"""One attempt at a run or a task: its child, its events, stop requests, its end."""

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from tunix_rt.base.errors import StorageError, TunixRTError, error_fields
from tunix_rt.base.files.locks import is_held
from tunix_rt.base.home import Home
from tunix_rt.base.logs import redacted
from tunix_rt.engines.training.types import RunFailure, RunManifest
from tunix_rt.runs.executors.base import (
    Child,
    ChildExit,
    Executor,
    Job,
    evaluation_command,
    task_job,
    training_job,
)
from tunix_rt.runs.executors.local import LocalExecutor
from tunix_rt.runs.executors.processes import wait_until
from tunix_rt.runs.files import AttemptRecord, read_record
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.rows import NewEvent
from tunix_rt.runs.tasks.files import TaskDir
from tunix_rt.runs.tasks.store import TaskRepository
from tunix_rt.runs.tasks.types import TaskClaim, TaskResult
from tunix_rt.runs.types import BeatAnswer, Claim, Lease, ServiceEventKind, Slot
from tunix_rt.runs.worker.heartbeat import Heartbeat
from tunix_rt.runs.worker.outcome import (
    AttemptEnd,
    Finished,
    Outcome,
    Requeued,
    StopReason,
    describe_exit,
    failures_so_far,
    gave_up,
    run_outcome,
    task_outcome,
)

logger = logging.getLogger(__name__)


_POLL_S = 0.2
_NOT_STARTED = ChildExit(None, detail="It was stopped before it started.")
_STOPPING: dict[StopReason, str] = {
    "cancel": "Asked to save and stop.",
    "pause": "Asked to save and stop, to be resumed later.",
    "drain": "Asked to save and stop: the worker is shutting down.",
    "database-away": "Asked to save and stop: the database does not answer.",
}


@dataclass(frozen=True)
class WorkerContext:
    """What the attempts of a worker share."""

    home: Home
    executor: Executor
    evaluator: Executor
    """Evaluates trained models. Results go into the database, so it always runs on this machine."""
    task_executor: LocalExecutor
    """Runs tasks, on this machine for the same reason."""
    heartbeat: Heartbeat
    must_exit: threading.Event
    """Set when the worker no longer waits for an unavailable database."""


class Attempt(ABC):
    """A claimed run or task. `run` does it; any thread may call the rest."""

    def __init__(self, context: WorkerContext, lease: Lease, slot: Slot) -> None:
        self._context = context
        self._settings = context.home.settings
        self.lease = lease
        self.slot = slot
        self._is_lost = False
        self._stop_reason: StopReason | None = None
        """The first reason counts; the queue knows of a later cancel by itself."""
        self._is_kill_requested = False
        self._changed = threading.Event()

    def on_beat(self, answer: BeatAnswer) -> None:
        """Stop if somebody has cancelled or paused it."""
        if answer.status == "cancelling":
            self.request_stop("cancel")
        elif answer.is_held:
            self.request_stop("pause")

    def request_stop(self, reason: StopReason) -> None:
        """Stop with a checkpoint; an evaluation keeps its answers."""
        self._stop_reason = self._stop_reason or reason
        self._changed.set()

    def lose(self) -> None:
        """Another worker has the lease: kill everything, write nothing more."""
        self._is_lost = True
        self.kill()

    def kill(self) -> None:
        """Kill the child at once."""
        self._is_kill_requested = True
        self._changed.set()

    @abstractmethod
    def write_events(self) -> None:
        """Write the events so far; StorageError while the database is away."""

    @abstractmethod
    def _add_event(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        """Add an event, to be written by the next `write_events`."""

    @abstractmethod
    def _execute(self) -> Outcome:
        """Do the work."""

    @abstractmethod
    def _write_outcome(self, outcome: Outcome, not_before: datetime | None) -> bool:
        """Write the end; False if the lease is lost."""

    def _run_child(self, start: Callable[[], Child]) -> ChildExit:
        """Start a child and wait for its end, passing on stop requests meanwhile."""
        if self._stop_reason is not None or self._is_kill_requested:
            return _NOT_STARTED
        child, is_stopping = start(), False
        try:
            while (how := child.poll()) is None:
                # On this machine's clock: before others may take the run, nothing of it runs here.
                if self._context.heartbeat.silence_s() > self._settings.worker_lease_s:
                    self.request_stop("database-away")
                if self._is_kill_requested:
                    child.kill()
                elif self._stop_reason is not None and not is_stopping:
                    is_stopping = True
                    child.stop()
                    self._add_event("stopping", _STOPPING[self._stop_reason])
                self._changed.wait(_POLL_S)
                self._changed.clear()
        finally:
            child.close()
        if how.was_killed:
            self._add_event("killed", "Killed: it did not stop in time.")
        return how

    def run(self) -> None:
        """Do the work and write its end, retrying while the database is away: the results are on disk."""
        try:
            outcome = self._execute()
            while not self._is_lost:
                wait_s = outcome.wait_s if isinstance(outcome, Requeued) else 0.0
                not_before = datetime.now(UTC) + timedelta(seconds=wait_s) if wait_s else None
                try:
                    is_written = self._write_outcome(outcome, not_before)
                except StorageError as error:
                    logger.warning("the end of %s is not written yet: %s", self.lease.run_id, error)
                    if self._context.must_exit.wait(self._settings.worker_beat_s):
                        return
                else:
                    logger.info("%s: %s", self.lease.run_id, outcome.message if is_written else "lost")
                    return
        finally:
            # In any case: a run that nobody works on must not keep its lease.
            self._context.heartbeat.remove(self)


class TaskAttempt(Attempt):
    """A claimed task."""

    def __init__(self, context: WorkerContext, claim: TaskClaim, slot: Slot) -> None:
        super().__init__(context, claim.lease, slot)
        self._task = claim.task
        self._dir = TaskDir(self._settings.tasks_dir / claim.lease.run_id)

    def write_events(self) -> None:
        """Tasks have no events."""

    def _add_event(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        pass

    def _execute(self) -> Outcome:
        try:
            job = task_job(self._settings, self._task, self.slot)
            executor = self._context.task_executor
            executor.adopt_or_clear(job.job_dir)
            self._dir.clear()
            how = self._run_child(lambda: executor.start(job))
        except TunixRTError as error:
            failure = RunFailure(**{name: redacted(text) for name, text in error_fields(error).items()})
            return Finished("failed", failure.detail, failure=failure)
        end = AttemptEnd(
            f"tunix-rt tasks show {self.lease.run_id}",
            how,
            self._stop_reason,
            self._task.num_failures,
            failure=job.job_dir.read_error(),
            result=read_record(self._dir.result, TaskResult),
            output_tail=job.job_dir.output_tail(),
        )
        return task_outcome(end, max_failures=self._settings.run_max_failures)

    def _write_outcome(self, outcome: Outcome, not_before: datetime | None) -> bool:
        tasks = TaskRepository(self._context.home.database)
        if isinstance(outcome, Requeued):
            return tasks.requeue(self.lease, not_before=not_before, num_failures=outcome.num_failures)
        if outcome.status != "succeeded":
            self._dir.clear()
        return tasks.finish(self.lease, outcome.status, failure=outcome.failure, result=outcome.result)


class RunAttempt(Attempt):
    """A claimed run."""

    def __init__(self, context: WorkerContext, claim: Claim, slot: Slot) -> None:
        super().__init__(context, claim.lease, slot)
        self._claim = claim
        self._runs = RunRepository(context.home.database)
        self._pending_events: deque[NewEvent] = deque()
        self._writing_events = threading.Lock()

    def write_events(self) -> None:
        """Write the events so far, in order; StorageError while the database is away: no event is lost."""
        with self._writing_events:
            while self._pending_events and not self._is_lost:
                if not self._runs.event(self.lease, self._pending_events[0]):
                    self.lose()
                self._pending_events.popleft()

    def _add_event(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        self._pending_events.append(NewEvent(kind, message, details))
        self._context.heartbeat.wake()

    def _execute(self) -> Outcome:
        try:
            job = training_job(self._settings, self._claim, self.slot)
            # Nothing of an earlier attempt may run, here or on a disk that others share.
            self._context.executor.adopt_or_clear(job.job_dir)
            self._context.evaluator.adopt_or_clear(job.job_dir)
            if not wait_until(lambda: not is_held(job.run_dir.path), within_s=self._settings.cancel_grace_s):
                raise StorageError(
                    f"Another process is writing the run {self.lease.run_id}.",
                    next_step="Stop the tunix-rt train process that does.",
                )
            return self._train_and_evaluate(job)
        except TunixRTError as error:
            # Exit code 1 means that the request is not to blame.
            code = None if error.exit_code == 1 else error.exit_code
            failure = RunFailure(**error_fields(error))
            end = self._end(ChildExit(code), self._claim.run.num_failures)
            return self._outcome(replace(end, failure=failure))

    def _train_and_evaluate(self, job: Job) -> Outcome:
        first_step = self._context.executor.newest_step(job.run_dir)
        num_failures = failures_so_far(self._claim.run.num_failures, job.job_dir.read_attempt(), first_step)
        manifest, earlier = read_record(job.run_dir.manifest, RunManifest), None
        if manifest is not None and manifest.status == "succeeded":
            # The worker of that attempt was lost before it could evaluate or report it.
            earlier = Finished("succeeded", "Succeeded, in an earlier attempt.", 0, None, manifest.figures)
        if num_failures >= self._settings.run_max_failures:
            lost = ChildExit(None, detail="Its worker was lost.")
            return earlier or gave_up(self._end(lost, num_failures), self.lease.run_id)
        job.job_dir.write_attempt(AttemptRecord(attempt=job.attempt, first_step=first_step))
        trained = earlier or self._train(job, first_step, num_failures)
        eval_set = self._claim.run.request.eval_set
        if eval_set is None or not isinstance(trained, Finished) or trained.status != "succeeded":
            return trained
        return self._evaluate(job, eval_set, trained, num_failures)

    def _train(self, job: Job, first_step: int, num_failures: int) -> Outcome:
        before = read_record(job.run_dir.manifest, RunManifest)
        resumed = f", resuming after step {first_step}" if first_step else ""
        self._add_event("started", f"Started on {self.slot}{resumed}.", attempt=job.attempt, step=first_step)
        how = self._run_child(lambda: self._context.executor.start(job))
        after = read_record(job.run_dir.manifest, RunManifest)
        has_progressed = self._context.executor.newest_step(job.run_dir) > first_step
        end = replace(
            self._end(how, 0 if has_progressed else num_failures),
            failure=job.job_dir.read_error(),
            manifest=None if after == before else after,
            output_tail=job.job_dir.output_tail(),
        )
        return self._outcome(end)

    def _evaluate(self, job: Job, eval_set: str, trained: Finished, num_failures: int) -> Outcome:
        """A failed evaluation never undoes the training."""
        self._add_event("evaluating", f"Evaluating on {eval_set}.", eval_set=eval_set)
        evaluation = replace(job, command=evaluation_command(self._claim, eval_set, self.slot))
        how = self._run_child(lambda: self._context.evaluator.start(evaluation))
        if how.code == 0:
            self._add_event("evaluated", f"Evaluated on {eval_set}.", eval_set=eval_set)
            return trained
        reason = self._stop_reason
        if how.code is None if reason is None else reason != "cancel":  # interrupted
            outcome = self._outcome(self._end(replace(how, code=None), num_failures))
            if isinstance(outcome, Requeued):
                return outcome
        again = f"tunix-rt eval {self.lease.run_id} --eval-set {eval_set}"
        self._add_event("warning", f"The evaluation failed. {describe_exit(how)} Run it again: {again}")
        return trained

    def _end(self, how: ChildExit, num_failures: int) -> AttemptEnd:
        command = f"tunix-rt runs logs {self.lease.run_id}"
        return AttemptEnd(command, how, self._stop_reason, num_failures)

    def _outcome(self, end: AttemptEnd) -> Outcome:
        return run_outcome(end, run_id=self.lease.run_id, max_failures=self._settings.run_max_failures)

    def _write_outcome(self, outcome: Outcome, not_before: datetime | None) -> bool:
        self.write_events()
        if self._is_lost:
            return False
        if isinstance(outcome, Requeued):
            return self._runs.requeue(
                self.lease,
                outcome.kind,
                outcome.message,
                not_before=not_before,
                num_failures=outcome.num_failures,
            )
        return self._runs.finish(
            self.lease,
            outcome.status,
            outcome.message,
            exit_code=outcome.exit_code,
            failure=outcome.failure,
            figures=outcome.figures,
        )
