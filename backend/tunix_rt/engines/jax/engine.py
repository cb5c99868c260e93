"""The JAX engine: training, generation and exports."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
from jax import Array

from tunix_rt.base.signals import stop_requests
from tunix_rt.engines.export import RequestedFormat
from tunix_rt.engines.generation.base import Generator, GeneratorRequest
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device, is_out_of_memory, join
from tunix_rt.engines.jax.export import export_checkpoint, export_state, merge_adapter
from tunix_rt.engines.jax.generation.generator import open_generator
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.start import CompiledTrainStep, Fitted, fit, load_state, run_summary
from tunix_rt.engines.jax.training.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.training.state import NOT_DIVERGED, StepMetrics, TrainState, clear_divergence
from tunix_rt.engines.jax.training.step import DeviceBatch
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.backend import PendingFigures, PendingSums, StepFigures
from tunix_rt.engines.training.checkpointing import (
    CheckpointRecord,
    Start,
    ValidationHistory,
    restore,
)
from tunix_rt.engines.training.job import TrainingJob, TrainingResult
from tunix_rt.engines.training.preparation import Prepared, RunIdentity, prepare
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.run import EngineTraining
from tunix_rt.tokenization.packing import Batch


@dataclass(eq=False)
class JaxBackend:
    """`TrainingBackend` with compiled steps, each of which replaces the state."""

    program: Program
    prepared: Prepared
    train_step: CompiledTrainStep
    checkpoints: Checkpoints
    identity: RunIdentity
    state: TrainState
    frozen: Any

    def put(self, batch: Batch) -> DeviceBatch:
        """Copy a batch to the devices."""
        return self.program.put_batch(batch)

    def step(self, batch: DeviceBatch, index: int) -> PendingFigures:
        """Start an update; the state counts the batches itself."""
        self.state, metrics = self.train_step(self.state, self.frozen, batch)
        for scalar in metrics:
            scalar.copy_to_host_async()
        return partial(_figures, metrics)

    def loss_sums(self, batch: DeviceBatch) -> PendingSums:
        """Start computing the loss of a validation batch."""
        return partial(_floats, self.program.validation_step(self.state.trainable, self.frozen, batch))

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint while training continues."""
        # After a step that was not finite, the state is still the one before it.
        state = clear_divergence(self.state)
        record = CheckpointRecord(
            step=step, identity=self.identity, validation=history, checksums=checksums(state)
        )
        self.checkpoints.save(state, record)

    def saved_steps(self) -> list[int]:
        """The steps with a checkpoint, ascending."""
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on disk."""
        self.checkpoints.wait()

    def restore(self, step: int) -> None:
        """Replace the state by the checkpoint of a step."""
        # Two states at a time may not fit.
        jax.tree.map(lambda leaf: leaf.delete(), self.state)
        self.state = restore(self.checkpoints, step, self.identity).state

    def export(self, directory: Path) -> None:
        """Write the weights of the state."""
        export_state(directory, self.state, self.frozen, self.prepared)


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
    """Trains and generates with our own decoder in plain JAX."""

    name: str = "jax"

    def open_generator(self, request: GeneratorRequest) -> Generator:
        """Load a model for generation."""
        return open_generator(request)

    def export_checkpoint(self, job: TrainingJob, step: int, directory: Path) -> None:
        """Write the weights that a run had after `step` steps."""
        export_checkpoint(job, step, directory)

    def merge_adapter(self, request: GeneratorRequest, directory: Path, dtype: RequestedFormat) -> None:
        """Write a model with its adapter merged."""
        merge_adapter(request, directory, dtype)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to its time limit."""
        recipe = job.resolved.recipe
        # A signal reaches only one of several processes; if that one stopped, the others would hang.
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
                names = tuple(map(str, choice.devices))
                return _JaxTraining(
                    self.name, names, job, records, prepared, choice, checkpoints, stop, program
                ).run()
            finally:
                checkpoints.close()


@dataclass(eq=False)
class _JaxTraining(EngineTraining[TrainState]):
    devices: DeviceChoice
    checkpoints: Checkpoints
    program: Program
    fitted: Fitted = field(init=False)

    def summary(self) -> str:
        return run_summary(self.program, self.prepared, self.devices)

    def plan(self) -> Plan:
        self.records.log("compiling the step")
        with self.records.timed("compile"):
            self.fitted = fit(self.program, self.prepared, self.devices)
        return self.fitted.plan

    def require_fit(self, plan: Plan) -> None:
        self.fitted.require(is_forced=self.job.is_forced)

    def load(self, start: Start[TrainState]) -> JaxBackend:
        train_step = self.fitted.require(is_forced=self.job.is_forced)
        state, frozen = load_state(
            start, self.program, self.prepared, initial_adapters=self.job.initial_adapters
        )
        return JaxBackend(
            self.program, self.prepared, train_step, self.checkpoints, self.prepared.identity, state, frozen
        )

    def is_out_of_memory(self, error: BaseException) -> bool:
        return is_out_of_memory(error)
