"""JaxEngine: from a job to trained, exported weights."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
from jax import Array

from tunix_rt.base.signals import StopRequest, stop_requests
from tunix_rt.engines.export import RequestedFormat
from tunix_rt.engines.generation.base import Generator, GeneratorRequest
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device, is_out_of_memory, join
from tunix_rt.engines.jax.export import export_checkpoint, export_model, merge_adapter
from tunix_rt.engines.jax.generation.generator import open_generator
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.start import CompiledTrainStep, Fitted, fit, load_state, run_summary
from tunix_rt.engines.jax.training.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.training.state import NOT_DIVERGED, StepMetrics, TrainState, without_divergence
from tunix_rt.engines.jax.training.step import DeviceBatch
from tunix_rt.engines.planning.fixes import out_of_memory_error
from tunix_rt.engines.planning.step import model_flops
from tunix_rt.engines.planning.targets import peak_flops
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.backend import PendingFigures, PendingSums, StepFigures
from tunix_rt.engines.training.checkpointing import (
    CheckpointRecord,
    Start,
    ValidationHistory,
    find_start,
    restore,
)
from tunix_rt.engines.training.environment import run_environment
from tunix_rt.engines.training.job import LATEST, TrainingJob, TrainingResult
from tunix_rt.engines.training.loop import LoopParts, Position, is_stopped_early, run_steps
from tunix_rt.engines.training.metrics import Meter
from tunix_rt.engines.training.preparation import Prepared, RunIdentity, prepare
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.run import record_beginning, record_plan, run_figures
from tunix_rt.tokenization.packing import Batch


@dataclass(eq=False)
class JaxBackend:
    """Compiled steps over a state, which every one of them replaces."""

    program: Program
    train_step: CompiledTrainStep
    checkpoints: Checkpoints
    identity: RunIdentity
    state: TrainState
    frozen: Any

    def put(self, batch: Batch) -> DeviceBatch:
        """The batch on the devices."""
        return self.program.put_batch(batch)

    def step(self, sent: DeviceBatch, index: int) -> PendingFigures:
        """Start an update; the state counts the batches itself."""
        self.state, metrics = self.train_step(self.state, self.frozen, sent)
        for scalar in metrics:
            scalar.copy_to_host_async()
        return partial(_figures, metrics)

    def loss_sums(self, sent: DeviceBatch) -> PendingSums:
        """Start to compute the loss of a batch that is not learned from."""
        return partial(_floats, self.program.validation_step(self.state.trainable, self.frozen, sent))

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint while the training goes on."""
        # After a step that was not finite, the state is still the one before it.
        state = without_divergence(self.state)
        record = CheckpointRecord(
            step=step, identity=self.identity, validation=history, checksums=checksums(state)
        )
        self.checkpoints.save(state, record)

    def saved_steps(self) -> list[int]:
        """The steps that have a checkpoint, ascending."""
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on the disk."""
        self.checkpoints.wait()


def _figures(metrics: StepMetrics) -> StepFigures:
    return StepFigures(
        loss=float(metrics.loss),
        num_trained_tokens=int(metrics.num_trained_tokens),
        grad_norm=float(metrics.grad_norm),
        learning_rate=float(metrics.learning_rate),
        is_finite=int(metrics.diverged_at) == NOT_DIVERGED,
    )


def _floats(sums: tuple[Array, Array]) -> tuple[float, float]:
    loss, num_tokens = jax.block_until_ready(sums)
    return float(loss), float(num_tokens)


@dataclass(frozen=True)
class JaxEngine:
    """Trains and writes with our own decoder in plain JAX."""

    name: str = "jax"

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load a model that writes."""
        return open_generator(request)

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps."""
        export_checkpoint(job, step, directory)

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
        """Write a model with its adapter added."""
        merge_adapter(request, directory, dtype)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to the end of its time."""
        recipe = job.resolved.recipe
        # A signal reaches one of several processes; if it alone stopped, the others would wait for it.
        with stop_requests(is_listening=job.processes is None, stop_after_s=job.stop_after_s) as stop:
            with records.timed("prepare"):
                if job.processes is not None:
                    join(job.processes, job.device)
                choice = choose_device(job.device)
                prepared = prepare(recipe, job.data)
                program = build_program(
                    recipe,
                    prepared.source.architecture,
                    make_mesh(recipe.sharding, choice.devices),
                    num_steps=prepared.num_steps,
                    platform=choice.platform,
                )
            checkpoints = Checkpoints(
                job.checkpoints, program.abstract_state, num_newest=recipe.output.keep_checkpoints
            )
            try:
                return _Training(job, records, choice, prepared, program, checkpoints, stop).run()
            finally:
                checkpoints.close()


@dataclass(frozen=True, eq=False)
class _Training:
    """One run, once everything that it needs is at hand."""

    job: TrainingJob
    records: RunRecords
    choice: DeviceChoice
    prepared: Prepared
    program: Program
    checkpoints: Checkpoints
    stop: StopRequest

    def run(self) -> TrainingResult:
        start = find_start(self.job, self.checkpoints, self.prepared)
        self._begin(start)
        self.records.log(run_summary(self.program, self.prepared, self.choice))
        fitted = self._fit()
        train_step = fitted.require(is_forced=self.job.is_forced)
        try:
            return self._train(start, fitted.plan, train_step)
        except jax.errors.JaxRuntimeError as error:
            if is_out_of_memory(error):
                saved = self.checkpoints.steps()
                raise out_of_memory_error(
                    fitted.plan, self.prepared.recipe, error, saved_steps=saved
                ) from error
            raise

    def _begin(self, start: Start[TrainState]) -> None:
        environment = run_environment(
            "jax",
            device=str(self.choice),
            devices=tuple(map(str, self.choice.devices)),
            device_memory_bytes=self.choice.memory_bytes,
        )
        record_beginning(self.job, self.records, start, environment)
        if self.job.resume_from not in (None, LATEST):
            self.checkpoints.delete_after(start.step)

    def _fit(self) -> Fitted:
        self.records.log("compiling the step")
        with self.records.timed("compile"):
            fitted = fit(self.program, self.prepared, self.choice)
        record_plan(self.job, self.records, fitted.plan)
        return fitted

    def _train(self, start: Start[TrainState], plan: Plan, train_step: CompiledTrainStep) -> TrainingResult:
        with self.records.timed("load"):
            state, frozen = load_state(
                start, self.program, self.prepared, initial_adapters=self.job.initial_adapters
            )
        backend = JaxBackend(
            self.program, train_step, self.checkpoints, self.prepared.identity, state, frozen
        )
        meter = Meter(
            self.prepared,
            self.choice,
            self.records,
            flops=self._step_flops,
            peak_flops=peak_flops(self.choice),
        )
        parts = LoopParts(self.prepared, backend, self.records, meter, self.stop)
        with self.records.timed("train"):
            end = run_steps(parts, Position(start.step, start.history))
        figures = partial(run_figures, self.prepared, self.choice, plan, meter, end)
        if self.stop.is_made:
            return TrainingResult(figures(None), self.stop.signal_number, self.stop.is_out_of_time)
        if is_stopped_early(self.prepared, end.history):
            self.records.event("early-stop", f"no better validation loss since step {end.history.best_step}")
        with self.records.timed("export"):
            exported_step = self._export(end, backend)
        return TrainingResult(figures(exported_step))

    def _step_flops(self, num_tokens: int, num_trained_tokens: int) -> float:
        return model_flops(
            self.program.architecture,
            self.prepared.recipe,
            num_tokens=num_tokens,
            num_trained_tokens=num_trained_tokens,
        )

    def _export(self, end: Position, backend: JaxBackend) -> int:
        """Write the weights that the recipe asks for; the step that they are of."""
        recipe, step, trainable = self.prepared.recipe, end.step, backend.state.trainable
        best_step = end.history.best_step
        if recipe.output.model == "best" and best_step is not None and best_step != step:
            # Two states at a time may not fit.
            jax.tree.map(lambda leaf: leaf.delete(), backend.state)
            restored = restore(self.checkpoints, best_step, self.prepared.identity)
            step, trainable = best_step, restored.state.trainable
        is_full = recipe.training.mode == "full"
        export_model(
            self.job.run_dir.model,
            trainable if is_full else backend.frozen,
            None if is_full else trainable,
            recipe,
            self.prepared.source,
            self.prepared.encoder,
        )
        self.records.event(
            "exported", f"weights of step {step} are in {self.job.run_dir.model.name}/", step=step
        )
        return step
