"""A batch on the device, cut into micro-batches, with the trained tokens found on the host.

    targets      Q  A  A  A  Q  B  B  B  _  _      one row of engines/batching.py
    loss_mask    0  1  1  1  0  1  1  1  0  0
    places          1  2  3     5  6  7            the loss is computed of these six hidden states only

To find them on the device, the host would have to wait for it: the number of places is the shape of what
follows.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.engines.torch.attention import Borders, segment_borders
from tunix_rt.engines.torch.sharding import ALONE, Layout
from tunix_rt.tokenization.packing import Batch


class MicroBatch(NamedTuple):
    """Rows that are computed at one time."""

    tokens: Tensor
    """[rows, T], as `segment_ids` and `positions`."""
    segment_ids: Tensor
    positions: Tensor
    borders: Borders
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
    own = layout.own_rows(batch)
    parts = np.split(np.arange(len(own.tokens)), num_micro_batches)
    micro_batches = tuple(_micro_batch(own, rows, device) for rows in parts)
    return DeviceBatch(micro_batches, batch.num_trained_tokens)


def _micro_batch(batch: Batch, rows: NDArray[np.intp], device: torch.device) -> MicroBatch:
    places = np.flatnonzero(batch.loss_mask[rows])
    weights = np.ones(len(places), np.float32)
    if not len(places):
        places, weights = np.zeros(1, np.intp), np.zeros(1, np.float32)
    borders, longest = segment_borders(torch.from_numpy(batch.segment_ids[rows]))
    return MicroBatch(
        tokens=_put(batch.tokens[rows], device),
        segment_ids=_put(batch.segment_ids[rows], device),
        positions=_put(batch.positions[rows], device),
        borders=Borders(_send(borders, device), longest),
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
