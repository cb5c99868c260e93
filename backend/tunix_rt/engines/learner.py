"""What the training loop asks of an engine: a model between two steps, and what takes it to the next one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tunix_rt.engines.checkpoint_record import ValidationHistory
from tunix_rt.tokenization.packing import Batch


@dataclass(frozen=True)
class StepFigures:
    """What a step measured, on the host."""

    loss: float
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: int
    grad_norm: float
    """Before clipping."""
    learning_rate: float
    is_finite: bool
    """False: loss or gradient were not finite, here or in an earlier step, and the update was not applied."""


PendingFigures = Callable[[], StepFigures]
"""Waits for a step that was started, and reads what it measured. Called once, by another thread."""

PendingSums = Callable[[], tuple[float, float]]
"""Waits for a batch of a validation: the sum of its losses, and the number of tokens that they are of."""


class Learner(Protocol):
    """A model that learns. Its weights and the state of its optimizer change from step to step."""

    def send(self, batch: Batch) -> Any:
        """The batch on the devices, as `learn` and `loss_sums` take it. Called by another thread."""

    def learn(self, sent: Any, index: int) -> PendingFigures:
        """Start the update with the batch of this index, without waiting for it.

        After a step that is not finite, no update is applied any more.
        """

    def loss_sums(self, sent: Any) -> PendingSums:
        """Start to compute the loss of a batch that is not learned from."""

    def save(self, step: int, history: ValidationHistory) -> None:
        """Write a checkpoint of the state after `step` updates while the training goes on.

        Raises:
            StorageError: This one, or the one before it, cannot be written. Earlier ones are whole.
        """

    def saved_steps(self) -> list[int]:
        """The steps that have a checkpoint, ascending."""

    def wait_until_saved(self) -> None:
        """Wait until every checkpoint is on the disk. Raises StorageError when it cannot get there."""
