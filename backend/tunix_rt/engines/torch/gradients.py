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

    def add(self) -> None:
        """Note that a backward pass has ended: its gradients were moved as they came."""

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


class GraphGradientSums:
    """The same for gradients that lie in the memory of a graph, all of them at one time.

    Adapters have hundreds of small ones: one kernel adds them all, where one for each took 2 % of a step.
    """

    def __init__(self, weights: Sequence[TrainedWeight]) -> None:
        self._parameters = [weight.parameter for weight in weights]
        self._sum: Tensor | None = None

    @torch.no_grad()
    def add(self) -> None:
        """Take in what a backward pass has left, before the next replay writes over it."""
        gradients = [parameter.grad for parameter in self._parameters]
        assert all(gradient is not None for gradient in gradients)
        flat = torch.cat([gradient.flatten() for gradient in gradients if gradient is not None])
        self._sum = flat.float() if self._sum is None else self._sum.add_(flat)
        for parameter in self._parameters:
            parameter.grad = None

    def take(self) -> list[Tensor]:
        """The sums since the last call, one a weight; the next ones start from nothing."""
        assert self._sum is not None
        parts = self._sum.split([parameter.numel() for parameter in self._parameters])
        self._sum = None
        return [part.view_as(parameter) for part, parameter in zip(parts, self._parameters, strict=True)]


@torch.no_grad()
def norm_of(gradients: Sequence[Tensor], layout: Layout) -> Tensor:
    """The length of all gradients as one vector, float32, wherever their parts are."""
    norms = torch._foreach_norm([layout.local(gradient) for gradient in gradients], 2.0, dtype=torch.float32)
    return layout.sum_over_shards(torch.stack(norms).square().sum()).sqrt()
