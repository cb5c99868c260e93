"""Batches on the device: loss positions and the rows of each micro-batch."""

import numpy as np
from numpy.typing import NDArray
from support.torch_models import CPU

from tunix_rt.engines.planning.limits import MeshShape
from tunix_rt.engines.torch.distributed import Layout
from tunix_rt.engines.torch.training.batches import put_batch
from tunix_rt.tokenization.packing import Batch


def make_batch(loss_mask: list[list[int]]) -> Batch:
    """Row r has the tokens 10 r, 10 r + 1, …"""
    mask: NDArray[np.uint8] = np.array(loss_mask, np.uint8)
    columns = np.tile(np.arange(mask.shape[1], dtype=np.int32), (len(mask), 1))
    tokens = columns + 10 * np.arange(len(mask), dtype=np.int32)[:, None]
    return Batch(tokens, tokens + 1, mask, np.ones_like(tokens), columns, examples=((),) * len(mask))


def test_loss_positions_are_trained_tokens() -> None:
    (part,), num_trained_tokens = put_batch(make_batch([[0, 1, 1, 0], [0, 0, 0, 1]]), 1, CPU)
    assert part.loss_positions.tolist() == [1, 2, 7]
    assert part.targets.tolist() == [2, 3, 14]
    assert part.weights.tolist() == [1, 1, 1]
    assert num_trained_tokens == 3


def test_micro_batches_keep_row_order() -> None:
    batch = put_batch(make_batch([[0, 1], [1, 0], [1, 1], [0, 1]]), 2, CPU)
    assert [part.tokens[:, 0].tolist() for part in batch.micro_batches] == [[0, 10], [20, 30]]
    assert [part.loss_positions.tolist() for part in batch.micro_batches] == [[1, 2], [0, 1, 3]]


def test_untrained_micro_batch_has_placeholder() -> None:
    _, empty = put_batch(make_batch([[0, 1], [0, 0]]), 2, CPU).micro_batches
    assert (empty.loss_positions.tolist(), empty.weights.tolist()) == ([0], [0])


def test_process_gets_its_own_rows() -> None:
    """The number of trained tokens covers all processes."""
    second_of_two = Layout(1, 2, MeshShape(data=2, fsdp=1, tensor=1))
    batch = put_batch(make_batch([[0, 1], [1, 1], [0, 1], [1, 0]]), 1, CPU, second_of_two)
    assert batch.micro_batches[0].tokens[:, 0].tolist() == [10, 30]
    assert batch.num_trained_tokens == 5
