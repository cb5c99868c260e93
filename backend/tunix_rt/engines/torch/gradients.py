"""Sums of gradients over micro-batches, in a format that can hold them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tunix_rt.engines.torch.precision import TrainedWeight
from tunix_rt.engines.torch.sharding import Layout


class GradientSums:
    """Adds up what backward passes leave at the parameters.

    Float32 gradients are summed by torch in place. Those of a bfloat16 parameter would be rounded with every
    micro-batch: each is moved into a float32 sum as soon as it is complete, so that few of the gradients
    themselves exist at one time. One micro-batch needs no sums.
    """

    def __init__(self, weights: Sequence[TrainedWeight], num_micro_batches: int) -> None:
        """Watch the parameters."""
        self._weights = weights
        self._sums: dict[torch.nn.Parameter, Tensor] = {}
        if num_micro_batches > 1:
            for weight in weights:
                if weight.parameter.dtype != torch.float32:
                    weight.parameter.register_post_accumulate_grad_hook(self._move)

    def take(self) -> list[Tensor]:
        """The sums since the last call, one a weight; the next ones start from nothing."""
        return [self._taken(weight) for weight in self._weights]

    def _taken(self, weight: TrainedWeight) -> Tensor:
        parameter = weight.parameter
        gradient = self._sums.pop(parameter, parameter.grad)
        parameter.grad = None
        # A weight that no loss reached: a batch without a trained token.
        return torch.zeros_like(parameter) if gradient is None else gradient

    def _move(self, parameter: Tensor) -> None:
        assert isinstance(parameter, torch.nn.Parameter)
        assert parameter.grad is not None
        gradient, parameter.grad = parameter.grad, None
        if parameter in self._sums:
            self._sums[parameter].add_(gradient)
        else:
            self._sums[parameter] = gradient.float()


@torch.no_grad()
def norm_of(gradients: Sequence[Tensor], layout: Layout) -> Tensor:
    """The length of all gradients as one vector, float32, wherever their parts are."""
    norms = torch._foreach_norm([layout.local(gradient) for gradient in gradients], 2.0, dtype=torch.float32)
    return layout.sum_over_shards(torch.stack(norms).square().sum()).sqrt()
