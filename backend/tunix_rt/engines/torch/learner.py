"""The state of a training on a torch device, as the loop drives it."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from tunix_rt.engines.checkpoint_record import CheckpointRecord, ValidationHistory
from tunix_rt.engines.identity import RunIdentity
from tunix_rt.engines.learner import PendingFigures, PendingSums, StepFigures
from tunix_rt.engines.torch.checkpoints import Checkpoints
from tunix_rt.engines.torch.device_batch import DeviceBatch
from tunix_rt.engines.torch.state import NOT_DIVERGED, StepMetrics
from tunix_rt.engines.torch.step import TrainStep
from tunix_rt.tokenization.packing import Batch


@dataclass(frozen=True, eq=False)
class TorchLearner:
    """A step that changes its weights in place, and where they are saved."""

    train_step: TrainStep
    checkpoints: Checkpoints
    identity: RunIdentity

    def send(self, batch: Batch) -> DeviceBatch:
        """The batch on the device."""
        return self.train_step.put_batch(batch)

    def learn(self, sent: DeviceBatch, index: int) -> PendingFigures:
        """Start the update with the batch of this index."""
        metrics = self.train_step.run(sent, index)
        scalars = _OnTheWay(metrics.loss, metrics.grad_norm, metrics.diverged_at)
        return partial(_figures, metrics, scalars)

    def loss_sums(self, sent: DeviceBatch) -> PendingSums:
        """Start to compute the loss of a batch that is not learned from."""
        return partial(_sums, _OnTheWay(*self.train_step.validation_sums(sent)))

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint while the training goes on."""
        record = CheckpointRecord(step=step, identity=self.identity, validation=history, checksums={})
        self.checkpoints.save(self.train_step.state_dict(), record)

    def saved_steps(self) -> list[int]:
        """The steps that have a checkpoint, ascending: the same for every process."""
        self.checkpoints.wait()
        return self.checkpoints.steps()

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on the disk."""
        self.checkpoints.wait()


class _OnTheWay:
    """Scalars that are copied to the host as soon as the device has computed them."""

    def __init__(self, *scalars: Tensor) -> None:
        values = torch.stack([scalar.detach().to(scalars[0].device, torch.float64) for scalar in scalars])
        self._arrived: torch.cuda.Event | None = None
        self._values = values
        if values.is_cuda:
            # Without an event, reading would wait for every step that was started meanwhile.
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._arrived = torch.cuda.Event()
            self._arrived.record()

    def read(self) -> list[float]:
        """Wait for them."""
        if self._arrived is not None:
            self._arrived.synchronize()
        values: list[float] = self._values.tolist()
        return values


def _figures(metrics: StepMetrics, scalars: _OnTheWay) -> StepFigures:
    loss, grad_norm, diverged_at = scalars.read()
    return StepFigures(
        loss=loss,
        num_trained_tokens=metrics.num_trained_tokens,
        grad_norm=grad_norm,
        learning_rate=metrics.learning_rate,
        is_finite=diverged_at == NOT_DIVERGED,
    )


def _sums(sums: _OnTheWay) -> tuple[float, float]:
    loss, num_tokens = sums.read()
    return loss, num_tokens
