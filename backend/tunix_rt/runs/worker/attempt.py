"""One attempt at a run, its event log, stop requests."""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue, ValidationError

from tunix_rt.base.errors import StorageError, TunixRTError
from tunix_rt.base.files.locks import is_held
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunFailure, RunManifest
from tunix_rt.runs.executors.base import Child, ChildExit, Executor, Job, evaluation_command, training_job
from tunix_rt.runs.executors.local import LocalExecutor
from tunix_rt.runs.executors.processes import wait_until
from tunix_rt.runs.files import AttemptRecord
from tunix_rt.runs.store.repository import RunRepository
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
    outcome_of,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Note:
    kind: ServiceEventKind
    message: str
    details: dict[str, JsonValue]


class EventLog:
    """Notes are kept until the database takes them, and reach it in order; the end comes last."""

    def __init__(self, runs: RunRepository, lease: Lease) -> None:
        self._runs = runs
        self._lease = lease
        self._notes: deque[_Note] = deque()
        self._writing = threading.Lock()
        self.is_closed = False
        """Whether nothing more can be written: the lease is lost, or the end is written."""

    def note(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        """Something has happened."""
        self._notes.append(_Note(kind, message, details))

    def write_notes(self) -> None:
        """Write down what is not written yet.

        Raises:
            StorageError: The database is away; nothing is forgotten.
        """
        with self._writing:
            while self._notes and not self.is_closed:
                note = self._notes[0]
                self.is_closed = not self._runs.event(self._lease, note.kind, note.message, note.details)
                self._notes.popleft()

    def write_end(self, outcome: Outcome, *, retry_s: float, must_exit: threading.Event) -> None:
        """Write the end, as often as it takes: what was trained is on the disk, only the queue is behind."""
        while not self.is_closed:
            try:
                self.write_notes()
                is_written = not self.is_closed and self._write(outcome)
                self.is_closed = True
            except StorageError as error:
                logger.warning("the end of %s is not written yet: %s", self._lease.run_id, error)
                if must_exit.wait(retry_s):
                    return
            else:
                logger.info("%s: %s", self._lease.run_id, outcome.message if is_written else "lost")

    def _write(self, outcome: Outcome) -> bool:
        return self._finish(outcome) if isinstance(outcome, Finished) else self._requeue(outcome)

    def _finish(self, end: Finished) -> bool:
        return self._runs.finish(
            self._lease,
            end.status,
            end.message,
            exit_code=end.exit_code,
            failure=end.failure,
            figures=end.figures,
        )

    def _requeue(self, end: Requeued) -> bool:
        not_before = datetime.now(UTC) + timedelta(seconds=end.wait_s) if end.wait_s else None
        return self._runs.requeue(
            self._lease, end.kind, end.message, not_before=not_before, num_failures=end.num_failures
        )


_POLL_S = 0.2
_NOT_STARTED = ChildExit(None, detail="It was stopped before it began.")


class StopController:
    """Carries the wish to stop to the child. `ask` and `kill` may be called by any thread."""

    def __init__(self, heartbeat: Heartbeat, *, lease_s: float) -> None:
        self._heartbeat = heartbeat
        self._lease_s = lease_s
        self.reason: StopReason | None = None
        """The first reason counts; the queue knows of a later cancel by itself."""
        self._is_stopping = False
        self._must_die = False
        self._changed = threading.Event()

    def ask(self, reason: StopReason) -> None:
        """Stop it, and let it save first."""
        self.reason = self.reason or reason
        self._changed.set()

    def kill(self) -> None:
        """End it at once."""
        self._must_die = True
        self._changed.set()

    def watch(self, start: Callable[[], Child], on_stopping: Callable[[StopReason], None]) -> ChildExit:
        """Start the child and see it to its end; told when it is asked to stop."""
        if self.reason is not None or self._must_die:
            return _NOT_STARTED
        child = start()
        try:
            while (how := child.poll()) is None:
                self._steer(child, on_stopping)
                self._changed.wait(_POLL_S)
                self._changed.clear()
        finally:
            child.close()
        return how

    def _steer(self, child: Child, on_stopping: Callable[[StopReason], None]) -> None:
        # On our own clock: when others may take it, nothing of it runs here any more.
        if self._heartbeat.silence_s() > self._lease_s:
            self.ask("silence")
        if self._must_die:
            child.kill()
        elif self.reason is not None and not self._is_stopping:
            self._is_stopping = True
            child.stop()
            on_stopping(self.reason)


_LOST_TOO_OFTEN = ChildExit(None, detail="Its worker was lost.", is_infrastructure=True)
_STOPPING: dict[StopReason, str] = {
    "cancel": "Asked to save and stop.",
    "pause": "Asked to save and stop, to be resumed later.",
    "drain": "Asked to save and stop: the worker is shutting down.",
    "silence": "Asked to save and stop: the database does not answer.",
}


@dataclass(frozen=True)
class WorkerContext:
    """What the attempts of a worker share."""

    home: Home
    executor: Executor
    evaluator: Executor
    """Evaluates what was trained. Its results go into the database, so that it is always this machine."""
    task_executor: LocalExecutor
    """Carries tasks out, on this machine for the same reason."""
    heartbeat: Heartbeat
    must_exit: threading.Event
    """No patience is left with a database that is away."""


class Attempt:
    """A claimed run in the hands of this worker. `run` is its story; the rest may be called by any thread."""

    def __init__(self, context: WorkerContext, claim: Claim, slot: Slot) -> None:
        self._context = context
        self._settings = context.home.settings
        self._claim = claim
        self._event_log = EventLog(RunRepository(context.home.database), claim.lease)
        self.slot = slot
        self._stop_controller = StopController(context.heartbeat, lease_s=self._settings.worker_lease_s)

    @property
    def lease(self) -> Lease:
        """The right to the run."""
        return self._claim.lease

    def on_beat(self, answer: BeatAnswer) -> None:
        """Somebody may have cancelled or paused the run."""
        if answer.status == "cancelling":
            self.ask("cancel")
        elif answer.is_held:
            self.ask("pause")

    def ask(self, reason: StopReason) -> None:
        """Stop with a checkpoint."""
        self._stop_controller.ask(reason)

    def lose(self) -> None:
        """The run is another worker's now: end everything, write nothing more."""
        self._event_log.is_closed = True
        self.kill()

    def kill(self) -> None:
        """End the child at once."""
        self._stop_controller.kill()

    def write_notes(self) -> None:
        """Write down what has happened so far."""
        self._event_log.write_notes()
        if self._event_log.is_closed:
            self.kill()

    def run(self) -> None:
        """Do it, and write down how it ended."""
        try:
            outcome = self._done()
            retry_s, must_exit = self._settings.worker_beat_s, self._context.must_exit
            self._event_log.write_end(outcome, retry_s=retry_s, must_exit=must_exit)
        finally:
            # Whatever happens: a run that nobody works on must not keep its lease.
            self._context.heartbeat.remove(self)

    def _done(self) -> Outcome:
        try:
            job = training_job(self._settings, self._claim, self.slot)
            self._clear_the_way(job)
            return self._tried(job)
        except TunixRTError as error:
            return self._refused(error)

    def _clear_the_way(self, job: Job) -> None:
        """Nothing of an earlier attempt may be at work, here or on a disk that others share."""
        self._context.executor.adopt_or_clear(job.job_dir)
        self._context.evaluator.adopt_or_clear(job.job_dir)
        if not wait_until(lambda: not is_held(job.run_dir.path), within_s=self._settings.cancel_grace_s):
            raise StorageError(
                f"Another process is writing the run {job.run_id}.",
                next_step="Stop the tunix-rt train that does.",
            )

    def _tried(self, job: Job) -> Outcome:
        first_step = self._context.executor.newest_step(job.run_dir)
        earlier = job.job_dir.read_attempt()
        num_failures = failures_so_far(self._claim.run.num_failures, earlier, first_step)
        before = _trained_before(job.run_dir)
        if num_failures >= self._settings.run_max_failures:
            return before or gave_up(self._end(_LOST_TOO_OFTEN, num_failures))
        job.job_dir.write_attempt(AttemptRecord(attempt=job.attempt, first_step=first_step))
        trained = before or self._trained(job, first_step, num_failures)
        eval_set = self._claim.run.request.eval_set
        if eval_set is None or not isinstance(trained, Finished) or trained.status != "succeeded":
            return trained
        return self._evaluated(job, eval_set, trained, num_failures)

    def _trained(self, job: Job, first_step: int, num_failures: int) -> Outcome:
        before = _manifest_bytes(job.run_dir)
        going_on = f", going on after step {first_step}" if first_step else ""
        self._note("started", f"Started on {self.slot}{going_on}.", attempt=job.attempt, step=first_step)
        how = self._watched(self._context.executor, job)
        after = _manifest_bytes(job.run_dir)
        has_progressed = self._context.executor.newest_step(job.run_dir) > first_step
        end = replace(
            self._end(how, 0 if has_progressed else num_failures),
            manifest=None if after == before else _manifest(after),
            output_tail=job.job_dir.output_tail(),
        )
        return self._decided(end)

    def _evaluated(self, job: Job, eval_set: str, trained: Finished, num_failures: int) -> Outcome:
        """The training stands, whatever becomes of its evaluation."""
        self._note("evaluating", f"Evaluating on {eval_set}.", eval_set=eval_set)
        command = evaluation_command(self._claim, eval_set, self.slot)
        how = self._watched(self._context.evaluator, replace(job, command=command))
        if how.code == 0:
            self._note("evaluated", f"Evaluated on {eval_set}.", eval_set=eval_set)
            return trained
        reason = self._stop_controller.reason
        is_interrupted = how.code is None if reason is None else reason != "cancel"
        outcome = (
            self._decided(self._end(replace(how, code=None), num_failures)) if is_interrupted else trained
        )
        if isinstance(outcome, Requeued):
            return outcome
        again = f"tunix-rt eval {job.run_id} --eval-set {eval_set}"
        self._note("warning", f"The evaluation did not succeed. {describe_exit(how)} Again: {again}")
        return trained

    def _watched(self, executor: Executor, job: Job) -> ChildExit:
        how = self._stop_controller.watch(
            lambda: executor.start(job), lambda reason: self._note("stopping", _STOPPING[reason])
        )
        if how.was_killed:
            self._note("killed", "Killed: it did not stop when it was asked to.")
        return how

    def _note(self, kind: ServiceEventKind, message: str, **details: JsonValue) -> None:
        self._event_log.note(kind, message, **details)
        self._context.heartbeat.wake()

    def _refused(self, error: TunixRTError) -> Outcome:
        """It could not be started, here and now or at all."""
        # Exit code 1 is the one that nobody's request is to blame for.
        code = None if error.exit_code == 1 else error.exit_code
        failure = RunFailure(code=error.code, detail=error.detail, next_step=error.next_step)
        end = self._end(ChildExit(code, is_infrastructure=code is None), self._claim.run.num_failures)
        return self._decided(replace(end, failure=failure))

    def _end(self, how: ChildExit, num_failures: int) -> AttemptEnd:
        return AttemptEnd(self.lease.run_id, how, self._stop_controller.reason, num_failures)

    def _decided(self, end: AttemptEnd) -> Outcome:
        return outcome_of(end, max_failures=self._settings.run_max_failures)


def _trained_before(run_dir: RunDir) -> Finished | None:
    """The success of an earlier attempt, whose worker was gone before it could evaluate it or say so."""
    done = _manifest(_manifest_bytes(run_dir))
    if done is None or done.status != "succeeded":
        return None
    return Finished("succeeded", "Succeeded, in an earlier attempt.", 0, None, done.figures)


def _manifest_bytes(run_dir: RunDir) -> bytes | None:
    try:
        return run_dir.manifest.read_bytes()
    except FileNotFoundError:
        return None


def _manifest(content: bytes | None) -> RunManifest | None:
    try:
        return None if content is None else RunManifest.model_validate_json(content)
    except ValidationError:
        return None
