"""The JAX engine: training, generation and exports."""

from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from tunix_rt.base.signals import stop_requests
from tunix_rt.engines.jax.devices import DeviceChoice, is_out_of_memory, join
from tunix_rt.engines.jax.export import export_checkpoint, export_state, merge_adapter
from tunix_rt.engines.jax.generation.generator import open_generator
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.start import CompiledTrainStep, Fitted, build_run, fit, load_state, run_summary
from tunix_rt.engines.jax.training.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.training.state import NOT_DIVERGED, TrainState
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
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.run import EngineTraining
from tunix_rt.tokenization.packing import Batch


@dataclass(eq=False)
class _JaxBackend:
    """`TrainingBackend` with compiled steps, each of which replaces the state."""

    program: Program
    prepared: Prepared
    train_step: CompiledTrainStep
    checkpoints: Checkpoints
    state: TrainState
    frozen: Any

    def put(self, batch: Batch) -> DeviceBatch:
        return self.program.put_batch(batch)

    def step(self, batch: DeviceBatch, index: int) -> PendingFigures:
        # The state counts the batches itself.
        self.state, metrics = self.train_step(self.state, self.frozen, batch)
        for scalar in metrics:
            scalar.copy_to_host_async()

        def figures() -> StepFigures:
            return StepFigures(
                loss=float(metrics.loss),
                num_trained_tokens=int(metrics.num_trained_tokens),
                grad_norm=float(metrics.grad_norm),
                learning_rate=float(metrics.learning_rate),
                is_finite=int(metrics.diverged_at) == NOT_DIVERGED,
            )

        return figures

    def loss_sums(self, batch: DeviceBatch) -> PendingSums:
        loss, num_tokens = self.program.validation_step(self.state.trainable, self.frozen, batch)
        return lambda: (float(loss), float(num_tokens))

    def save(self, step: int, history: ValidationHistory) -> None:
        # After a step that was not finite, the state is still the one before it.
        not_diverged = jnp.full_like(self.state.diverged_at, NOT_DIVERGED)
        state = replace(self.state, diverged_at=not_diverged)
        identity = self.prepared.identity
        record = CheckpointRecord(
            step=step, identity=identity, validation=history, checksums=checksums(state)
        )
        self.checkpoints.save(state, record)

    def saved_steps(self) -> list[int]:
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        self.checkpoints.wait()

    def restore(self, step: int) -> None:
        # Two states at a time may not fit.
        jax.tree.map(lambda leaf: leaf.delete(), self.state)
        self.state = restore(self.checkpoints, step, self.prepared.identity).state

    def export(self, directory: Path) -> None:
        export_state(directory, self.state, self.frozen, self.prepared)


@dataclass(frozen=True)
class JaxEngine:
    """Trains and generates with our own decoder in plain JAX."""

    name: str = "jax"
    open_generator = staticmethod(open_generator)
    export_checkpoint = staticmethod(export_checkpoint)
    merge_adapter = staticmethod(merge_adapter)

    def train(self, job: TrainingJob, records: RunRecords) -> TrainingResult:
        """Run the recipe to its end, to a signal, or to its time limit."""
        recipe = job.resolved.recipe
        # A signal reaches only one of several processes; if that one stopped, the others would hang.
        with stop_requests(is_listening=job.processes is None, stop_after_s=job.stop_after_s) as stop:
            with records.timed("prepare"):
                if job.processes is not None:
                    join(job.processes, job.device)
                devices, prepared, program = build_run(job, recipe)
            num_newest = recipe.output.keep_checkpoints
            names = tuple(map(str, devices.devices))
            with closing(
                Checkpoints(job.checkpoints, program.abstract_state, num_newest=num_newest)
            ) as checkpoints:
                return _JaxTraining(
                    self.name, names, job, records, prepared, devices, checkpoints, stop, program
                ).run()


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

    def load(self, start: Start[TrainState]) -> _JaxBackend:
        train_step = self.fitted.require(is_forced=self.job.is_forced)
        state, frozen = load_state(
            start, self.program, self.prepared, initial_adapters=self.job.initial_adapters
        )
        return _JaxBackend(self.program, self.prepared, train_step, self.checkpoints, state, frozen)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return is_out_of_memory(error)
