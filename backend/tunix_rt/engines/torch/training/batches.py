"""Micro-batches on the device; gradient sums.

The loss is computed only for the hidden states of trained tokens. In a packed row:

    targets           Q  A  A  A  Q  B  B  B  _  _
    loss_mask         0  1  1  1  0  1  1  1  0  0
    loss_positions       1  2  3     5  6  7

The positions are computed on the host: their number is the shape of later tensors, and reading it from the
device would block.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.engines.torch.distributed import ALONE, Layout, local_shard
from tunix_rt.engines.torch.model.attention import SegmentBounds, segment_bounds
from tunix_rt.engines.torch.training.optimizer import TrainedWeight
from tunix_rt.tokenization.packing import Batch


class MicroBatch(NamedTuple):
    """Rows that are computed at the same time."""

    tokens: Tensor
    """[rows, T], like `segment_ids` and `positions`."""
    segment_ids: Tensor
    positions: Tensor
    bounds: SegmentBounds
    """Bounds of the segments."""
    loss_positions: Tensor
    """[n]: indices of the trained tokens in the flattened rows * T hidden states."""
    targets: Tensor
    """[n]"""
    weights: Tensor
    """[n], float32: 1, or 0 for the placeholder of a micro-batch without trained tokens."""


class DeviceBatch(NamedTuple):
    """The batch of one update."""

    micro_batches: tuple[MicroBatch, ...]
    num_trained_tokens: int
    """In the whole batch, over all processes."""


def put_batch(
    batch: Batch, num_micro_batches: int, device: torch.device, layout: Layout = ALONE
) -> DeviceBatch:
    """Transfer the rows of this process to its device; `batch` has those of all processes."""
    own = layout.local_rows(batch)
    parts = np.split(np.arange(len(own.tokens)), num_micro_batches)
    micro_batches = tuple(_micro_batch(own, rows, device) for rows in parts)
    return DeviceBatch(micro_batches, batch.num_trained_tokens)


def _micro_batch(batch: Batch, rows: NDArray[np.intp], device: torch.device) -> MicroBatch:
    loss_positions = np.flatnonzero(batch.loss_mask[rows])
    weights = np.ones(len(loss_positions), np.float32)
    if not len(loss_positions):
        loss_positions, weights = np.zeros(1, np.intp), np.zeros(1, np.float32)
    cu_seqlens, max_seqlen = segment_bounds(torch.from_numpy(batch.segment_ids[rows]))
    return MicroBatch(
        tokens=_put(batch.tokens[rows], device),
        segment_ids=_put(batch.segment_ids[rows], device),
        positions=_put(batch.positions[rows], device),
        bounds=SegmentBounds(_send(cu_seqlens, device), max_seqlen),
        loss_positions=_put(loss_positions, device),
        targets=_put(batch.targets[rows].reshape(-1)[loss_positions], device),
        weights=_put(weights, device),
    )


def _put(array: NDArray[Any], device: torch.device) -> Tensor:
    is_index = np.issubdtype(array.dtype, np.integer)
    return _send(torch.from_numpy(np.ascontiguousarray(array, np.int64 if is_index else None)), device)


def _send(tensor: Tensor, device: torch.device) -> Tensor:
    # Only pinned memory is transferred while the device computes.
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


class GradientSums:
    """Sums gradients over micro-batches.

    Torch sums float32 gradients in place. Gradients of a bfloat16 parameter would be rounded in every
    micro-batch: each is moved to a float32 sum as soon as it is complete, so that only few bfloat16 gradients
    exist at a time. A single micro-batch needs no sums.
    """

    def __init__(self, weights: Sequence[TrainedWeight], num_micro_batches: int) -> None:
        """Register the gradient hooks."""
        self._parameters = [weight.parameter for weight in weights]
        self._sums: dict[torch.nn.Parameter, Tensor] = {}
        for parameter in self._parameters:
            if num_micro_batches > 1 and parameter.dtype != torch.float32:
                parameter.register_post_accumulate_grad_hook(self._move)

    def add(self) -> None:
        """Called after each backward pass; the hooks have already moved its gradients."""

    def take(self) -> list[Tensor]:
        """The sums since the last call, one per weight; resets them."""
        gradients = []
        for parameter in self._parameters:
            gradient = self._sums.pop(parameter, parameter.grad)
            parameter.grad = None
            # None if no loss reached the weight: a batch without trained tokens.
            gradients.append(torch.zeros_like(parameter) if gradient is None else gradient)
        return gradients

    def _move(self, parameter: Tensor) -> None:
        assert isinstance(parameter, torch.nn.Parameter)
        assert parameter.grad is not None
        gradient, parameter.grad = parameter.grad, None
        if parameter in self._sums:
            self._sums[parameter].add_(gradient)
        else:
            self._sums[parameter] = gradient.float()


class GraphGradientSums:
    """The same for gradients in the memory of a CUDA graph, which exist all at once.

    Adapters have hundreds of small gradients: one kernel adds all of them; one kernel each took 2 % of a
    step.
    """

    def __init__(self, weights: Sequence[TrainedWeight]) -> None:
        self._parameters = [weight.parameter for weight in weights]
        self._sum: Tensor | None = None

    @torch.no_grad()
    def add(self) -> None:
        """Add the gradients of a backward pass before the next replay overwrites them."""
        gradients = [parameter.grad for parameter in self._parameters]
        assert all(gradient is not None for gradient in gradients)
        flat = torch.cat([gradient.flatten() for gradient in gradients if gradient is not None])
        self._sum = flat.float() if self._sum is None else self._sum.add_(flat)
        for parameter in self._parameters:
            parameter.grad = None

    def take(self) -> list[Tensor]:
        """The sums since the last call, one per weight; resets them."""
        assert self._sum is not None
        parts = self._sum.split([parameter.numel() for parameter in self._parameters])
        self._sum = None
        return [part.view_as(parameter) for part, parameter in zip(parts, self._parameters, strict=True)]


@torch.no_grad()
def global_norm(gradients: Sequence[Tensor], layout: Layout) -> Tensor:
    """The L2 norm of all gradients, float32, over all shards."""
    norms = torch._foreach_norm([local_shard(gradient) for gradient in gradients], 2.0, dtype=torch.float32)
    return layout.sum_over_shards(torch.stack(norms).square().sum()).sqrt()
