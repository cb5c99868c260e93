"""The optimizers of a recipe, and AdamW by torch's fused kernel, which scales, skips and updates in one pass.

Everything is decided on the device: an update that must not happen is a kernel that does nothing, so the host
never waits to know.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from tunix_rt.engines.torch.precision import TrainedWeight, write_rounded
from tunix_rt.recipes.types import AdamW as AdamWSettings

_NUMBERS_AT_A_TIME = 1 << 26
"""256 MiB in float32."""


@dataclass(frozen=True)
class Update:
    """What one update is told, apart from the gradients."""

    learning_rate: float
    gradient_divisor: Tensor
    """float32 scalar: the gradients are sums; this makes them clipped means."""
    is_skipped: Tensor
    """float32 scalar: 1 leaves everything as it is, whatever the gradients are."""
    weight_noise: torch.Generator | None
    """Rounds bfloat16 weights stochastically. None: to the nearest."""
    moment_noise: torch.Generator
    """Rounds bfloat16 moments."""


class Optimizer(Protocol):
    """Changes the stored weights in place."""

    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Apply one update. The gradients, one a weight, are used up."""

    def state(self) -> dict[str, Tensor]:
        """Everything that the next update depends on: the tensors themselves, to save or to fill."""


class _Piece(NamedTuple):
    """A stretch of one weight's numbers, read as one long row."""

    weight: int
    numbers: slice

    def of(self, tensors: Sequence[Tensor]) -> Tensor:
        """The piece of this weight, or of its gradient or moment. A view where memory has no gaps."""
        return _own_part(tensors[self.weight]).reshape(-1)[self.numbers]


class AdamW:
    """Adam with decoupled weight decay; moments in the recipe's format, computed in float32.

    bfloat16 moments are rounded stochastically. To the nearest, 0.999 of a number is the number itself: the
    second moment would never go down again.
    """

    def __init__(
        self,
        weights: Sequence[TrainedWeight],
        settings: AdamWSettings,
        moment_format: torch.dtype,
        *,
        numbers_at_a_time: int = _NUMBERS_AT_A_TIME,
    ) -> None:
        """Start with moments of zero.

        Args:
            weights: What is trained.
            settings: What the recipe says.
            moment_format: What the moments are stored in.
            numbers_at_a_time: Bounds the float32 copies of what is not stored in float32.
        """
        self._settings = settings
        self._weights = [_contiguous(weight) for weight in weights]
        self._names = [weight.name for weight in weights]
        self._first = [torch.zeros_like(weight, dtype=moment_format) for weight in self._weights]
        self._second = [torch.zeros_like(weight, dtype=moment_format) for weight in self._weights]
        self._num_updates = torch.zeros((), dtype=torch.float32, device=self._weights[0].device)
        matrices = [index for index, weight in enumerate(weights) if weight.is_matrix]
        others = [index for index, weight in enumerate(weights) if not weight.is_matrix]
        self._groups = [
            (decay, group)
            for decay, indices in ((settings.weight_decay, matrices), (0.0, others))
            for group in _groups(self._weights, indices, numbers_at_a_time)
        ]

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Apply one update, some pieces at a time."""
        self._num_updates += 1 - update.is_skipped
        for decay, group in self._groups:
            self._update_group(group, gradients, update, decay)

    def state(self) -> dict[str, Tensor]:
        """Both moments of every weight, and the number of updates behind them."""
        first = {
            f"first_moments.{name}": moment for name, moment in zip(self._names, self._first, strict=True)
        }
        second = {
            f"second_moments.{name}": moment for name, moment in zip(self._names, self._second, strict=True)
        }
        return first | second | {"num_updates": self._num_updates}

    def _update_group(
        self, group: Sequence[_Piece], gradients: Sequence[Tensor], update: Update, decay: float
    ) -> None:
        stored = [
            [piece.of(tensors) for piece in group] for tensors in (self._weights, self._first, self._second)
        ]
        weights, first, second = exact = [[part.float() for part in parts] for parts in stored]
        torch._fused_adamw_(
            weights,
            [piece.of(gradients).float() for piece in group],
            first,
            second,
            [],
            [self._num_updates] * len(group),
            lr=update.learning_rate,
            beta1=self._settings.beta1,
            beta2=self._settings.beta2,
            weight_decay=decay,
            eps=self._settings.epsilon,
            amsgrad=False,
            maximize=False,
            grad_scale=update.gradient_divisor,
            found_inf=update.is_skipped,
        )
        noises = (update.weight_noise, update.moment_noise, update.moment_noise)
        for targets, values, noise in zip(stored, exact, noises, strict=True):
            for target, value in zip(targets, values, strict=True):
                write_rounded(target, value, noise)


def _groups(weights: Sequence[Tensor], indices: Sequence[int], group_size: int) -> Iterator[list[_Piece]]:
    """All numbers of these weights, in groups of whole and cut tensors of bounded size.

    Example:
        weights of 5 and 4 numbers, groups of 3 -> [0:3 of the first], [3:5, 0:1 of the second], [1:4]
    """
    group: list[_Piece] = []
    num_left = group_size
    for index in indices:
        num_numbers, start = _own_part(weights[index]).numel(), 0
        while start < num_numbers:
            stop = min(num_numbers, start + num_left)
            group.append(_Piece(index, slice(start, stop)))
            num_left -= stop - start
            start = stop
            if num_left == 0:
                yield group
                group, num_left = [], group_size
    if group:
        yield group


def _own_part(tensor: Tensor) -> Tensor:
    """What this process holds of a tensor: all of it, or its shard."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _contiguous(weight: TrainedWeight) -> Tensor:
    # Pieces are views only of memory without gaps; of a copy, the update would be lost.
    assert _own_part(weight.stored).is_contiguous(), weight.name
    return weight.stored
