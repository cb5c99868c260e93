"""AdamW, Adafactor and number formats.

                      stored, updated, in checkpoints          used for computing
    matrices          float32 or bfloat16  --cast once per step--> the compute format
    norms             float32 or bfloat16  ----------------------> as stored, because norms compute in float32
    embedding, head   float32 or bfloat16  ----------------------> as stored; looked-up rows are cast

- weights float32: master weights, for which no update is too small.
- weights bfloat16: new weights are rounded to the nearest bfloat16, so an update below 1/512 of a weight is
  lost every time; with stochastic_rounding they are rounded up or down at random, which is unbiased.
- lora, qlora: the float32 adapters are the master weights.

All decisions are made on the device: a skipped update is a kernel that changes nothing, so the host never
waits.

Adafactor stores the mean squares of the rows and columns of a matrix gradient G [out, in] instead of those of
all entries:

    rows [out]    columns [in]    update = G / sqrt(rows columns / mean(rows)),  then its RMS is clipped

There is no momentum, and updates are not scaled by the size of the weights: the learning rate has the same
meaning as for AdamW. The engine has its own implementation, because the library's blocks on the device in
every update, reads gradients that are already means, and rounds bfloat16 weights to nearest only.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from tunix_rt.engines.torch.distributed import local_shard
from tunix_rt.recipes.types import Adafactor as AdafactorSettings
from tunix_rt.recipes.types import AdamW as AdamWSettings

_DROPPED_BITS = 16
"""bfloat16 is the upper half of float32."""

# The gradients of all positions of a frequent token are summed in the format of the embedding.
_ALWAYS_AS_STORED = ("embed_tokens.weight", "lm_head.weight")


@dataclass(frozen=True, eq=False)
class TrainedWeight:
    """A trained tensor."""

    name: str
    parameter: nn.Parameter
    """The parameter that computes and receives the gradient."""
    stored: Tensor
    """The tensor that is updated; shares the memory of the parameter if both have the same format."""

    @property
    def is_working_copy(self) -> bool:
        """Whether the parameter must be refreshed after an update."""
        return self.parameter.dtype != self.stored.dtype

    @property
    def is_matrix(self) -> bool:
        """Whether weight decay and factored moments apply: all but norms and biases."""
        return self.stored.ndim > 1


def trained_weights(module: nn.Module, compute: torch.dtype) -> list[TrainedWeight]:
    """The trained weights of a module, in the order of its parameters.

    If the format of a matrix is not the compute format, its memory becomes the stored weight, and the
    parameter gets a copy in the compute format. Sharded parameters are left as they are: FSDP casts them when
    it gathers them, and the shards are the stored weights.
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
    """Copy the stored weights to the parameters that compute in another format."""
    copies = [weight for weight in weights if weight.is_working_copy]
    if copies:
        torch._foreach_copy_(
            [weight.parameter.data for weight in copies], [weight.stored for weight in copies]
        )


def round_stochastically(values: Tensor, generator: torch.Generator) -> Tensor:
    """Round float32 to one of the two neighbours in bfloat16, the nearer one with the higher probability.

    Example:
        1.00195 lies a quarter of the way from 1.0 to 1.0078: it becomes 1.0078 with probability 1/4.
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


_ELEMENTS_PER_GROUP = 1 << 26
"""256 MiB in float32."""


@dataclass(frozen=True)
class Update:
    """The inputs of one update, apart from the gradients."""

    learning_rate: float
    gradient_divisor: Tensor
    """float32 scalar that turns the summed gradients into clipped means."""
    is_skipped: Tensor
    """float32 scalar: 1 skips the update, whatever the gradients are."""
    weight_noise: torch.Generator | None
    """Rounds bfloat16 weights stochastically. None: to the nearest."""
    moment_noise: torch.Generator
    """Rounds bfloat16 moments."""


class _Slice(NamedTuple):
    """A range of elements of one flattened weight."""

    weight: int
    elements: slice

    def of(self, tensors: Sequence[Tensor]) -> Tensor:
        """This slice of the weight, its gradient or a moment; a view if the memory is contiguous."""
        return local_shard(tensors[self.weight]).reshape(-1)[self.elements]


class AdamW:
    """Adam with decoupled weight decay; moments in the recipe's format, computed in float32.

    bfloat16 moments are rounded stochastically. Rounded to nearest, 0.999 x stays x, and the second moment
    would never decrease.
    """

    def __init__(
        self,
        weights: Sequence[TrainedWeight],
        settings: AdamWSettings,
        moment_format: torch.dtype,
        *,
        group_size: int = _ELEMENTS_PER_GROUP,
    ) -> None:
        """Start with zero moments. `group_size` bounds the float32 copies of weights in other formats."""
        self._settings = settings
        # Slices are views only of contiguous memory; an update of a copy would be lost.
        assert all(local_shard(weight.stored).is_contiguous() for weight in weights)
        self._weights = [weight.stored for weight in weights]
        self._names = [weight.name for weight in weights]
        self._first = [torch.zeros_like(weight, dtype=moment_format) for weight in self._weights]
        self._second = [torch.zeros_like(weight, dtype=moment_format) for weight in self._weights]
        self._num_updates = torch.zeros((), dtype=torch.float32, device=self._weights[0].device)
        matrices = [index for index, weight in enumerate(weights) if weight.is_matrix]
        others = [index for index, weight in enumerate(weights) if not weight.is_matrix]
        self._slice_groups = [
            (decay, group)
            for decay, indices in ((settings.weight_decay, matrices), (0.0, others))
            for group in _slice_groups(self._weights, indices, group_size)
        ]

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Change the stored weights in place, group by group."""
        self._num_updates += 1 - update.is_skipped
        for decay, group in self._slice_groups:
            self._update_group(group, gradients, update, decay)

    def state(self) -> dict[str, Tensor]:
        """What the next update depends on, not copies: to save or to overwrite."""
        moments = {
            f"{kind}.{name}": moment
            for kind, values in (("first_moments", self._first), ("second_moments", self._second))
            for name, moment in zip(self._names, values, strict=True)
        }
        return moments | {"num_updates": self._num_updates}

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
    """Split these weights into groups of `group_size` elements, cutting tensors where needed.

    Example:
        weights of 5 and 4 elements, groups of 3 -> [0:3 of the first], [3:5, 0:1 of the second], [1:4]
    """
    group: list[_Slice] = []
    num_left = group_size
    for index in indices:
        num_elements, start = local_shard(weights[index]).numel(), 0
        while start < num_elements:
            stop = min(num_elements, start + num_left)
            group.append(_Slice(index, slice(start, stop)))
            num_left -= stop - start
            start = stop
            if num_left == 0:
                yield group
                group, num_left = [], group_size
    if group:
        yield group


_SQUARE_EPSILON = 1e-30
"""Keeps squares above zero. Moments start with it, so that a skipped first update does not divide by zero;
the first applied update replaces them."""


class Adafactor:
    """Gradients divided by their factored root mean square, with a clipped RMS."""

    def __init__(self, weights: Sequence[TrainedWeight], settings: AdafactorSettings) -> None:
        """Start with moments that remember nothing."""
        self._settings = settings
        self._weights = weights
        self._moments = [_initial_moments(weight) for weight in weights]
        self._num_updates = torch.zeros((), dtype=torch.float32, device=weights[0].stored.device)

    @torch.no_grad()
    def update(self, gradients: Sequence[Tensor], update: Update) -> None:
        """Change the stored weights in place, one at a time."""
        self._num_updates += 1 - update.is_skipped
        # A skipped update forgets nothing, learns nothing and adds nothing.
        decay = torch.where(update.is_skipped > 0, 1.0, 1 - self._num_updates**-self._settings.decay_rate)
        for weight, moments, gradient in zip(self._weights, self._moments, gradients, strict=True):
            mean = gradient.float() / update.gradient_divisor
            mean = torch.where(update.is_skipped > 0, torch.zeros_like(mean), mean)
            scaled = self._precondition(mean, moments, decay)
            self._add(weight, scaled, update)

    def state(self) -> dict[str, Tensor]:
        """What the next update depends on, not copies: to save or to overwrite."""
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
        """Scale an update down to a root mean square of the threshold."""
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


Optimizer: TypeAlias = AdamW | Adafactor
"""An update may overwrite the gradients, one per weight."""
