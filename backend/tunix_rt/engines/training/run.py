"""What surrounds every engine: run directory, manifest, exit code, and the steps of one training.

`run` holds the directory and writes the manifest. `EngineTraining` is the order in which an engine trains:
resume point, records, plan, load, loop, export. The rest describes the run in the log before it starts.
"""

import json
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, TunixRTError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.files.locks import is_unused, remove_if_unused
from tunix_rt.base.logs import redacted
from tunix_rt.base.signals import Interrupted, StopRequest
from tunix_rt.engines.planning.fixes import out_of_memory_error, require_fit
from tunix_rt.engines.planning.targets import Devices
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.backend import TrainingBackend
from tunix_rt.engines.training.checkpointing import (
    Checkpoints,
    Start,
    engine_mismatch_error,
    find_start,
    require_checkpoints_of,
)
from tunix_rt.engines.training.environment import code_diff, run_environment
from tunix_rt.engines.training.job import LATEST, Engine, TrainingJob, TrainingResult
from tunix_rt.engines.training.loop import TrainingLoop, is_stopped_early
from tunix_rt.engines.training.metrics import Meter
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.training.records import RunRecords, View
from tunix_rt.engines.training.types import (
    OUT_OF_TIME,
    EventKind,
    RunFailure,
    RunFigures,
    RunManifest,
    RunStatus,
)
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import Recipe

# Added to the signal number: the exit code of a process that a signal ended.
_SIGNAL_EXIT_BASE = 128


@dataclass(frozen=True)
class _Outcome:
    status: RunStatus
    exit_code: int
    figures: RunFigures | None = None
    failure: RunFailure | None = None


def run(engine: Engine, job: TrainingJob, view: View) -> RunManifest:
    """Train in the job's run directory, and write the manifest.

    Raises:
        ConflictError: The directory already holds a run and the job does not resume it.
        TunixRTError: The run failed. If it had started, the manifest records the failure.
    """
    with job.run_dir.held():
        if job.resume_from is None and not is_unused(job.run_dir.path):
            raise ConflictError(
                f"{job.run_dir.path} is not empty.",
                next_step="Add --resume to resume the run in it, or choose another --output.",
            )
        _require_same_engine(engine, job)
        records = RunRecords(job.run_dir, view)
        if job.engine_choice is not None:
            records.log(job.engine_choice)
        started_at = datetime.now(UTC)
        try:
            try:
                outcome = _trained(engine, job, records)
            except Exception as error:
                _finish(engine, job, records, started_at, _failed(error, records))
                raise
            return _finish(engine, job, records, started_at, outcome)
        finally:
            records.close()
            remove_if_unused(job.run_dir.path)


def _require_same_engine(engine: Engine, job: TrainingJob) -> None:
    require_checkpoints_of(engine.name, job.checkpoints)
    environment = job.run_dir.environment
    started_with = json.loads(environment.read_bytes())["engine"] if environment.is_file() else engine.name
    if started_with != engine.name:
        raise engine_mismatch_error(job.run_dir.path, started_with, engine.name)


def _trained(engine: Engine, job: TrainingJob, records: RunRecords) -> _Outcome:
    try:
        result = engine.train(job, records)
    except Interrupted as interrupt:
        # No step was running that could be finished first.
        return _Outcome("cancelled", _SIGNAL_EXIT_BASE + interrupt.signal_number)
    if result.stop_signal is not None:
        return _Outcome("cancelled", _SIGNAL_EXIT_BASE + result.stop_signal, result.figures)
    if result.is_out_of_time:
        return _Outcome("cancelled", OUT_OF_TIME, result.figures)
    return _Outcome("succeeded", 0, result.figures)


def _failed(error: Exception, records: RunRecords) -> _Outcome:
    if isinstance(error, TunixRTError):
        failure = RunFailure(code=error.code, detail=redacted(error.detail), next_step=error.next_step)
        return _Outcome("failed", error.exit_code, failure=failure)
    records.log(traceback.format_exc())
    failure = RunFailure(
        code="bug",
        detail=redacted(f"{type(error).__name__}: {error}"),
        next_step="Please report it with log.txt: this is a bug.",
    )
    return _Outcome("failed", 1, failure=failure)


def _finish(
    engine: Engine, job: TrainingJob, records: RunRecords, started_at: datetime, outcome: _Outcome
) -> RunManifest:
    if records.has_begun:
        message = outcome.status if outcome.failure is None else f"failed: {outcome.failure.detail}"
        kind: EventKind = "finished" if outcome.failure is None else "failed"
        records.note(kind, message, exit_code=outcome.exit_code)
    records.close()
    recipe = job.resolved.recipe
    manifest = RunManifest(
        run_id=job.run_dir.run_id,
        status=outcome.status,
        exit_code=outcome.exit_code,
        engine=engine.name,
        tunix_rt_version=__version__,
        recipe=job.recipe_name,
        model=recipe.model.name,
        dataset=job.data.name,
        dataset_hash=job.data.content_hash,
        mode=recipe.training.mode,
        is_forced=records.is_forced,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        durations_s={what: round(seconds, 3) for what, seconds in records.durations_s.items()},
        figures=outcome.figures,
        failure=outcome.failure,
        files=job.run_dir.file_hashes() if records.has_begun else {},
    )
    if records.has_begun:
        # Written last: a directory with a manifest is complete, whatever the outcome.
        write_json_atomically(job.run_dir.manifest, manifest.to_json(), what="writing the manifest")
    return manifest


_State = TypeVar("_State")


@dataclass(eq=False)
class EngineTraining(ABC, Generic[_State]):
    """One training, whichever engine runs it; an engine fills in the abstract methods."""

    engine: str
    device_names: tuple[str, ...]
    job: TrainingJob
    records: RunRecords
    prepared: Prepared
    devices: Devices
    checkpoints: Checkpoints[_State]
    stop: StopRequest

    @abstractmethod
    def summary(self) -> str:
        """The block that describes the run in its log."""

    @abstractmethod
    def plan(self) -> Plan:
        """Plan the step; compile it where the engine does so ahead of time."""

    @abstractmethod
    def load(self, start: Start[_State]) -> TrainingBackend:
        """Put the weights and the optimizer state on the devices."""

    @abstractmethod
    def is_out_of_memory(self, error: BaseException) -> bool:
        """Whether the error says that a device has no memory left."""

    def require_fit(self, plan: Plan) -> None:
        """Raise DoesNotFitError when the plan does not fit and the job is not forced."""
        require_fit(plan, is_forced=self.job.is_forced)

    def run(self) -> TrainingResult:
        """Train to the end of the recipe, to a signal, or to the time limit."""
        records = self.records
        start = find_start(self.job, self.checkpoints, self.prepared)
        self._begin(start)
        records.log(self.summary())
        plan = self.plan()
        records.write_json(self.job.run_dir.plan.name, plan.to_json())
        records.event("plan", plan.reason, fits=plan.fits)
        if not plan.fits and self.job.is_forced:
            records.is_forced = True
            records.event("forced", "running because of --force")
        self.require_fit(plan)
        try:
            return self._train(start, plan)
        except (RuntimeError, MemoryError) as error:
            if not self.is_out_of_memory(error):
                raise
            saved_steps = self.checkpoints.steps()
            raise out_of_memory_error(plan, self.prepared.recipe, error, saved_steps=saved_steps) from error

    def _begin(self, start: Start[_State]) -> None:
        """Open the records; nothing is written before this."""
        job, records = self.job, self.records
        environment = run_environment(
            self.engine,
            device=str(self.devices),
            devices=self.device_names,
            device_memory_bytes=self.devices.memory_bytes,
        )
        records.begin(step=start.step)
        records.write_json(job.run_dir.recipe.name, job.resolved.to_json())
        records.write_json(job.run_dir.environment.name, environment.to_json())
        if environment.is_dirty and (diff := code_diff()) is not None:
            records.write_text(job.run_dir.code_diff.name, diff)
        if start.step:
            records.event("resumed", f"resuming after step {start.step}", step=start.step)
        else:
            records.event("started", f"run {job.run_dir.run_id}")
        for step, problem in start.damaged.items():
            message = f"the checkpoint of step {step} is damaged and was set aside: {problem}"
            records.event("damaged-checkpoint", message, step=step)
        for override in job.resolved.overrides:
            message = f"{override.key}: {override.recipe_value} -> {override.used_value} ({override.reason})"
            records.event("override", message, **override.model_dump(mode="json"))
        if job.resume_from not in (None, LATEST):
            self.checkpoints.delete_after(start.step)

    def _train(self, start: Start[_State], plan: Plan) -> TrainingResult:
        prepared, records, stop = self.prepared, self.records, self.stop
        with records.timed("load"):
            backend = self.load(start)
        meter = Meter(prepared, self.devices, records)
        loop = TrainingLoop(prepared, backend, records, meter, stop, start.step, start.history)
        with records.timed("train"):
            loop.run()
        if stop.is_made:
            figures = self._figures(plan, loop, None)
            return TrainingResult(figures, stop.signal_number, stop.is_out_of_time)
        step, best_step, model = loop.step, loop.history.best_step, self.job.run_dir.model
        if is_stopped_early(prepared, loop.history):
            records.event("early-stop", f"no better validation loss since step {best_step}")
        with records.timed("export"):
            if prepared.recipe.output.model == "best" and best_step is not None and best_step != step:
                backend.restore(best_step)
                step = best_step
            backend.export(model)
            records.event("exported", f"weights of step {step} are in {model.name}/", step=step)
        return TrainingResult(self._figures(plan, loop, step))

    def _figures(self, plan: Plan, loop: TrainingLoop, exported_step: int | None) -> RunFigures:
        """The figures of a run that did not fail."""
        batches, history, meter = self.prepared.batches, loop.history, loop.meter
        return RunFigures(
            num_steps=loop.step,
            num_planned_steps=self.prepared.num_steps,
            num_examples=batches.num_examples,
            num_dropped_examples=batches.num_dropped,
            fill_ratio=batches.fill_ratio,
            final_loss=None if meter.last_line is None else meter.last_line.loss,
            validation_loss=history.last_loss,
            best_validation_loss=history.best_loss,
            best_step=history.best_step,
            exported_step=exported_step,
            tokens_per_s=meter.tokens_per_s,
            mfu=meter.mfu,
            planned_memory_bytes=plan.per_device_bytes,
            peak_memory_bytes=meter.peak_memory_bytes,
            peak_memory_of="process" if self.devices.platform == "cpu" else "device",
        )


def block(lines: Mapping[str, str]) -> str:
    """One line per subject."""
    return "\n".join(f"{subject:<10} {text}" for subject, text in lines.items())


def model_line(prepared: Prepared, num_trained: int) -> str:
    """The model, and how many of its weights are trained."""
    architecture = prepared.source.architecture
    return (
        f"{prepared.source.name} ({architecture.family}): {architecture.num_layers} layers, "
        f"hidden {architecture.hidden_size:,}, vocabulary {architecture.vocab_size:,}; "
        f"{architecture.num_parameters:,} weights, {num_trained:,} trained"
    )


def training_line(recipe: Recipe) -> str:
    """Mode, optimizer, schedule and memory options."""
    training = recipe.training
    return (
        f"{training.mode}, {training.optimizer.name}, learning rate {training.learning_rate:g} "
        f"{training.schedule}, remat {training.remat}, "
        f"buffers {'donated' if training.donate_buffers else 'not donated'}"
    )


def batch_line(prepared: Prepared, shape: tuple[int, int, int], dtype: str) -> str:
    """A batch of [parts, rows, tokens] as the step gets it."""
    parts, rows, length = shape
    batches = prepared.batches
    trained = batches.num_trained_tokens_per_epoch / batches.num_batches_per_epoch
    return (
        f"{parts} x {rows} rows of {length} tokens ({dtype}), {batches.fill_ratio:.1%} filled, "
        f"{trained:,.0f} trained tokens per step"
    )


def data_line(prepared: Prepared) -> str:
    """The training data, and how often it is repeated."""
    batches = prepared.batches
    name = prepared.encoder.template.name
    template = (
        "the tokenizer's own chat template" if name == "tokenizer" else f"built-in chat template {name}"
    )
    dropped = f" ({batches.num_dropped:,} too long, dropped)" if batches.num_dropped else ""
    return (
        f"{prepared.data.name}/{prepared.data.train.split}: {batches.num_examples:,} examples{dropped}, "
        f"{batches.num_batches_per_epoch:,} batches per epoch, {prepared.num_steps:,} steps = "
        f"{prepared.epoch_after(prepared.num_steps):.2f} epochs; {template}"
    )


def logits_text(recipe: Recipe, architecture: Architecture, *, rows: int) -> str:
    """The largest logits on a device that computes `rows` rows at a time."""
    num_tokens, chunk = rows * recipe.data.row_length, recipe.training.loss_chunk_tokens
    if chunk is not None:
        num_tokens = min(num_tokens, max(rows, chunk))
    vocabulary = architecture.vocab_size
    return f"logits [{num_tokens}, {vocabulary}] float32 {mib(num_tokens * vocabulary * 4)}"


def mib(num_bytes: int) -> str:
    """1048576 -> "1.0 MiB"."""
    return f"{num_bytes / 2**20:,.1f} MiB"
