"""AdamW, Adafactor, number formats.

stored, updated, in checkpoints         computes
    matrices          float32 or bfloat16  --one cast a step-->  the compute format
    norms             float32 or bfloat16  ------------------->  as stored, since they compute in float32
    embedding, head   float32 or bfloat16  ------------------->  as stored; what is looked up is cast

- weights float32: master weights. No update is too small for them.
- weights bfloat16: a new weight is rounded to the nearest bfloat16, so an update below 1/512 of a weight is
  lost, every time; with stochastic_rounding it is rounded up or down at random, which is right on average.
- lora, qlora: the float32 adapters are the master weights.

Everything is decided on the device: an update that must not happen is a kernel that does nothing, so the host
never waits to know.

A matrix G [out, in] keeps the mean square of its rows and of its columns instead of all entries:

    rows [out]    columns [in]    update = G / sqrt(rows columns / mean(rows)),  then its size is limited

There is no momentum, and updates are not scaled by the size of the weights: the learning rate means what it
means for AdamW. The engine has its own, because the library's waits for the device in every update, reads
gradients that are already means, and rounds bfloat16 weights to the nearest only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from tunix_rt.recipes.types import Adafactor as AdafactorSettings
from tunix_rt.recipes.types import AdamW as AdamWSettings

_DROPPED_BITS = 16
"""bfloat16 is the upper half of float32."""

# The gradients of a frequent token's many places are summed in the format of the embedding.
_ALWAYS_AS_STORED = ("embed_tokens.weight", "lm_head.weight")


@dataclass(frozen=True, eq=False)
class TrainedWeight:
    """One tensor that training changes."""

    name: str
    parameter: nn.Parameter
    """What computes, and what gets the gradient."""
    stored: Tensor
    """What is updated: the parameter's own memory where both formats are the same."""

    @property
    def is_working_copy(self) -> bool:
        """Whether the parameter must be refreshed after an update."""
        return self.parameter.dtype != self.stored.dtype

    @property
    def is_matrix(self) -> bool:
        """Whether weight decay and factored moments apply: all but norms and biases."""
        return self.stored.ndim > 1


def trained_weights(module: nn.Module, compute: torch.dtype) -> list[TrainedWeight]:
    """What of a module is trained, in the order of its parameters.

    The memory of a parameter whose format is not the one that computes becomes the stored weight, and the
    parameter gets a copy in the compute format. Sharded parameters are left alone: the library that gathers
    them casts them, and the shards are the stored weights.
    """
    weights = [
        TrainedWeight(name, parameter, parameter.data)
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    ]
    for weight in weights:
        is_whole = not isinstance(weight.stored, DTensor)
        if is_whole and weight.is_matrix and not weight.name.endswith(_ALWAYS_AS_STORED):
            weight.parameter.data = weight.stored.to(compute)
    return weights


@torch.no_grad()
def refresh_working_copies(weights: Sequence[TrainedWeight]) -> None:
    """Bring what computes up to date with what is stored."""
    copies = [weight for weight in weights if weight.is_working_copy]
    if copies:
        torch._foreach_copy_(
            [weight.parameter.data for weight in copies], [weight.stored for weight in copies]
        )


def round_stochastically(values: Tensor, generator: torch.Generator) -> Tensor:
    """Round float32 to one of the two neighbours in bfloat16, each as likely as it is near.

    Example:
        1.00195 lies a quarter of the way from 1.0 to 1.0078: it becomes 1.0078 in one draw out of four.
    """
    noise = torch.randint(
        1 << _DROPPED_BITS, values.shape, generator=generator, dtype=torch.int32, device=values.device
    )
    bits = noise.add_(values.view(torch.int32)) >> _DROPPED_BITS << _DROPPED_BITS
    return torch.where(torch.isfinite(values), bits.view(torch.float32), values).to(torch.bfloat16)


def write_rounded(target: Tensor, values: Tensor, generator: torch.Generator | None) -> None:
    """Store float32 values in the target's format: stochastically when a generator is given, else nearest."""
    if target is values:
        return
    if generator is not None and target.dtype == torch.bfloat16:
        values = round_stochastically(values, generator)
    target.copy_(values)


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


class _Slice(NamedTuple):
    """A stretch of one weight's numbers, read as one long row."""

    weight: int
    numbers: slice

    def of(self, tensors: Sequence[Tensor]) -> Tensor:
        """The part of this weight, or of its gradient or moment. A view where memory has no gaps."""
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
        self._slice_groups = [
            (decay, group)
            for decay, indices in ((settings.weight_decay, matrices), (0.0, others))
            for group in _slice_groups(self._weights, indices, numbers_at_a_time)
        ]

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Apply one update, some pieces at a time."""
        self._num_updates += 1 - update.is_skipped
        for decay, group in self._slice_groups:
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
        self, group: Sequence[_Slice], gradients: Sequence[Tensor], update: Update, decay: float
    ) -> None:
        stored = [
            [part.of(tensors) for part in group] for tensors in (self._weights, self._first, self._second)
        ]
        weights, first, second = exact = [[part.float() for part in parts] for parts in stored]
        torch._fused_adamw_(
            weights,
            [part.of(gradients).float() for part in group],
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


def _slice_groups(
    weights: Sequence[Tensor], indices: Sequence[int], group_size: int
) -> Iterator[list[_Slice]]:
    """All numbers of these weights, in groups of whole and cut tensors of bounded size.

    Example:
        weights of 5 and 4 numbers, groups of 3 -> [0:3 of the first], [3:5, 0:1 of the second], [1:4]
    """
    group: list[_Slice] = []
    num_left = group_size
    for index in indices:
        num_numbers, start = _own_part(weights[index]).numel(), 0
        while start < num_numbers:
            stop = min(num_numbers, start + num_left)
            group.append(_Slice(index, slice(start, stop)))
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


_SQUARE_EPSILON = 1e-30
"""Keeps squares above zero. Moments start with it, so that even a skipped first update divides by something;
the first applied one replaces them whole."""


class Adafactor:
    """Gradients divided by their factored root mean square, limited in size."""

    def __init__(self, weights: Sequence[TrainedWeight], settings: AdafactorSettings) -> None:
        """Start with moments that remember nothing."""
        self._settings = settings
        self._weights = weights
        self._moments = [_initial_moments(weight) for weight in weights]
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
            scaled = self._precondition(mean, moments, decay)
            self._add(weight, scaled, update)

    def state(self) -> dict[str, Tensor]:
        """The moments of every weight, and the number of updates behind them."""
        moments = {
            f"{kind}.{weight.name}": moment
            for weight, moments in zip(self._weights, self._moments, strict=True)
            for kind, moment in moments.items()
        }
        return moments | {"num_updates": self._num_updates}

    def _precondition(self, gradient: Tensor, moments: dict[str, Tensor], decay: Tensor) -> Tensor:
        squares = gradient.square() + _SQUARE_EPSILON
        if "squares" in moments:
            moment = moments["squares"].lerp_(squares, 1 - decay)
            return self._clip_rms(gradient * moment.rsqrt())
        rows = moments["rows"].lerp_(squares.mean(dim=-1), 1 - decay)
        columns = moments["columns"].lerp_(squares.mean(dim=-2), 1 - decay)
        row_factors = (rows / rows.mean(dim=-1, keepdim=True)).rsqrt()
        return self._clip_rms(gradient * row_factors[..., :, None] * columns.rsqrt()[..., None, :])

    def _clip_rms(self, update: Tensor) -> Tensor:
        """Scale one tensor's update down to a root mean square of the threshold."""
        size = update.square().mean().sqrt()
        return update / (size / self._settings.clipping_threshold).clamp(min=1.0)

    def _add(self, weight: TrainedWeight, scaled: Tensor, update: Update) -> None:
        exact = weight.stored.float()
        if weight.is_matrix and self._settings.weight_decay:
            scaled = scaled + self._settings.weight_decay * (1 - update.is_skipped) * exact
        write_rounded(weight.stored, exact - update.learning_rate * scaled, update.weight_noise)


def _initial_moments(weight: TrainedWeight) -> dict[str, Tensor]:
    stored = weight.stored
    if not weight.is_matrix:
        return {"squares": torch.full_like(stored, _SQUARE_EPSILON, dtype=torch.float32)}
    return {
        "rows": torch.full_like(stored[..., 0], _SQUARE_EPSILON, dtype=torch.float32),
        "columns": torch.full_like(stored[..., 0, :], _SQUARE_EPSILON, dtype=torch.float32),
    }
