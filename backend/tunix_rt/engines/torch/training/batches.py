"""Micro-batches on the device; gradient sums.

targets      Q  A  A  A  Q  B  B  B  _  _      one row of engines/batching.py
    loss_mask    0  1  1  1  0  1  1  1  0  0
    places          1  2  3     5  6  7            the loss is computed of these six hidden states only

To find them on the device, the host would have to wait for it: the number of places is the shape of what
follows.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.engines.torch.distributed import ALONE, Layout
from tunix_rt.engines.torch.model.attention import SegmentBounds, segment_bounds
from tunix_rt.engines.torch.training.optimizer import TrainedWeight
from tunix_rt.tokenization.packing import Batch


class MicroBatch(NamedTuple):
    """Rows that are computed at one time."""

    tokens: Tensor
    """[rows, T], as `segment_ids` and `positions`."""
    segment_ids: Tensor
    positions: Tensor
    bounds: SegmentBounds
    """Of the segments."""
    places: Tensor
    """[n]: where the trained tokens are among the rows * T hidden states, read row after row."""
    targets: Tensor
    """[n]"""
    weights: Tensor
    """[n], float32: 1, or 0 for the one place that stands in where no token is trained."""


class DeviceBatch(NamedTuple):
    """What one update is made from."""

    micro_batches: tuple[MicroBatch, ...]
    num_trained_tokens: int
    """Of the whole batch, over all processes."""


def put_batch(
    batch: Batch, num_micro_batches: int, device: torch.device, layout: Layout = ALONE
) -> DeviceBatch:
    """Send the rows that this process computes to its device.

    Args:
        batch: All rows of an update, over all processes.
        num_micro_batches: Parts of it that are computed one after the other.
        device: Where to.
        layout: Which rows are this process's.
    """
    own = layout.local_rows(batch)
    parts = np.split(np.arange(len(own.tokens)), num_micro_batches)
    micro_batches = tuple(_micro_batch(own, rows, device) for rows in parts)
    return DeviceBatch(micro_batches, batch.num_trained_tokens)


def _micro_batch(batch: Batch, rows: NDArray[np.intp], device: torch.device) -> MicroBatch:
    places = np.flatnonzero(batch.loss_mask[rows])
    weights = np.ones(len(places), np.float32)
    if not len(places):
        places, weights = np.zeros(1, np.intp), np.zeros(1, np.float32)
    bounds, longest = segment_bounds(torch.from_numpy(batch.segment_ids[rows]))
    return MicroBatch(
        tokens=_put(batch.tokens[rows], device),
        segment_ids=_put(batch.segment_ids[rows], device),
        positions=_put(batch.positions[rows], device),
        bounds=SegmentBounds(_send(bounds, device), longest),
        places=_put(places, device),
        targets=_put(batch.targets[rows].reshape(-1)[places], device),
        weights=_put(weights, device),
    )


def _put(array: NDArray[Any], device: torch.device) -> Tensor:
    is_index = np.issubdtype(array.dtype, np.integer)
    return _send(torch.from_numpy(np.ascontiguousarray(array, np.int64 if is_index else None)), device)


def _send(tensor: Tensor, device: torch.device) -> Tensor:
    # Only pinned memory is sent while the device computes.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


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
def global_norm(gradients: Sequence[Tensor], layout: Layout) -> Tensor:
    """The length of all gradients as one vector, float32, wherever their parts are."""
    norms = torch._foreach_norm([layout.local(gradient) for gradient in gradients], 2.0, dtype=torch.float32)
    return layout.sum_over_shards(torch.stack(norms).square().sum()).sqrt()
