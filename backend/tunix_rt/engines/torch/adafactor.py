"""Adafactor's update as the transformers library does it with `scale_parameter` and `relative_step` off.

A matrix G [out, in] keeps the mean square of its rows and of its columns instead of all entries:

    rows [out]    columns [in]    update = G / sqrt(rows columns / mean(rows)),  then its size is limited

There is no momentum, and updates are not scaled by the size of the weights: the learning rate means what it
means for AdamW. The engine has its own, because the library's waits for the device in every update, reads
gradients that are already means, and rounds bfloat16 weights to the nearest only.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tunix_rt.engines.torch.optimizer import Update
from tunix_rt.engines.torch.precision import TrainedWeight, write_rounded
from tunix_rt.recipes.types import Adafactor as AdafactorSettings

_SQUARE_EPSILON = 1e-30
"""Keeps squares above zero. Moments start with it, so that even a skipped first update divides by something;
the first applied one replaces them whole."""


class Adafactor:
    """Gradients divided by their factored root mean square, limited in size."""

    def __init__(self, weights: Sequence[TrainedWeight], settings: AdafactorSettings) -> None:
        """Start with moments that remember nothing."""
        self._settings = settings
        self._weights = weights
        self._moments = [_first_moments(weight) for weight in weights]
        self._num_updates = torch.zeros((), dtype=torch.float32, device=weights[0].stored.device)

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Apply one update, a weight at a time."""
        self._num_updates += 1 - update.is_skipped
        # A skipped update forgets nothing, learns nothing and adds nothing.
        decay = torch.where(update.is_skipped > 0, 1.0, 1 - self._num_updates**-self._settings.decay_rate)
        for weight, moments, gradient in zip(self._weights, self._moments, gradients, strict=True):
            mean = gradient.float() / update.gradient_divisor
            mean = torch.where(update.is_skipped > 0, torch.zeros_like(mean), mean)
            scaled = self._scaled(mean, moments, decay)
            self._add(weight, scaled, update)

    def state(self) -> dict[str, Tensor]:
        """The moments of every weight, and the number of updates behind them."""
        moments = {
            f"{kind}.{weight.name}": moment
            for weight, moments in zip(self._weights, self._moments, strict=True)
            for kind, moment in moments.items()
        }
        return moments | {"num_updates": self._num_updates}

    def _scaled(self, gradient: Tensor, moments: dict[str, Tensor], decay: Tensor) -> Tensor:
        squares = gradient.square() + _SQUARE_EPSILON
        if "squares" in moments:
            moment = moments["squares"].lerp_(squares, 1 - decay)
            return self._limited(gradient * moment.rsqrt())
        rows = moments["rows"].lerp_(squares.mean(dim=-1), 1 - decay)
        columns = moments["columns"].lerp_(squares.mean(dim=-2), 1 - decay)
        row_factors = (rows / rows.mean(dim=-1, keepdim=True)).rsqrt()
        return self._limited(gradient * row_factors[..., :, None] * columns.rsqrt()[..., None, :])

    def _limited(self, update: Tensor) -> Tensor:
        """Scale one tensor's update down to a root mean square of the threshold."""
        size = update.square().mean().sqrt()
        return update / (size / self._settings.clipping_threshold).clamp(min=1.0)

    def _add(self, weight: TrainedWeight, scaled: Tensor, update: Update) -> None:
        exact = weight.stored.float()
        if weight.is_matrix and self._settings.weight_decay:
            scaled = scaled + self._settings.weight_decay * (1 - update.is_skipped) * exact
        write_rounded(weight.stored, exact - update.learning_rate * scaled, update.weight_noise)


def _first_moments(weight: TrainedWeight) -> dict[str, Tensor]:
    stored = weight.stored
    if not weight.is_matrix:
        return {"squares": torch.full_like(stored, _SQUARE_EPSILON, dtype=torch.float32)}
    return {
        "rows": torch.full_like(stored[..., 0], _SQUARE_EPSILON, dtype=torch.float32),
        "columns": torch.full_like(stored[..., 0, :], _SQUARE_EPSILON, dtype=torch.float32),
    }
