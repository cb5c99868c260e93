"""Number formats: the copy of the weights that computes, and rounding that small updates survive.

                     stored, updated, in checkpoints         computes
    matrices          float32 or bfloat16  --one cast a step-->  the compute format
    norms             float32 or bfloat16  ------------------->  as stored, since they compute in float32
    embedding, head   float32 or bfloat16  ------------------->  as stored; what is looked up is cast

- weights float32: master weights. No update is too small for them.
- weights bfloat16: a new weight is rounded to the nearest bfloat16, so an update below 1/512 of a weight is
  lost, every time; with stochastic_rounding it is rounded up or down at random, which is right on average.
- lora, qlora: the float32 adapters are the master weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

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
