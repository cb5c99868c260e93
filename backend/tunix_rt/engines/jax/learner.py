"""The state of a training on JAX devices, as the loop drives it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jax import Array

from tunix_rt.engines.checkpoint_record import CheckpointRecord, ValidationHistory
from tunix_rt.engines.identity import RunIdentity
from tunix_rt.engines.jax.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.fitting import CompiledTrainStep
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import NOT_DIVERGED, StepMetrics, TrainState, without_divergence
from tunix_rt.engines.jax.step import DeviceBatch
from tunix_rt.engines.learner import PendingFigures, PendingSums, StepFigures
from tunix_rt.tokenization.packing import Batch


@dataclass(eq=False)
class JaxLearner:
    """Compiled steps over a state, which every one of them replaces."""

    program: Program
    train_step: CompiledTrainStep
    checkpoints: Checkpoints
    identity: RunIdentity
    state: TrainState
    frozen: Any

    def send(self, batch: Batch) -> DeviceBatch:
        """The batch on the devices."""
        return self.program.put_batch(batch)

    def learn(self, sent: DeviceBatch, index: int) -> PendingFigures:
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
