"""What a training step tells."""

from typing import NamedTuple

from torch import Tensor

NOT_DIVERGED = -1


class StepMetrics(NamedTuple):
    """Tensors are scalars on the device; reading one waits for the step."""

    loss: Tensor
    """Mean over the trained tokens of the batch, before the update."""
    num_trained_tokens: int
    grad_norm: Tensor
    """Before clipping."""
    learning_rate: float
    diverged_at: Tensor
    """The update that met a loss or gradient that is not finite, or -1. No update is applied from then on."""
