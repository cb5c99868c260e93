"""The layout of a run over processes, as far as a single process can check it."""

from typing import Any

import numpy as np
import pytest
import torch
from support.programs import random_batch, tiny_architecture, tiny_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.torch.distributed import ALONE, Layout, make_layout
from tunix_rt.engines.training.job import ProcessGroup

CPU = torch.device("cpu")
TWO = ProcessGroup("127.0.0.1:1", 2, 0)


def layout_for(sharding: dict[str, Any], processes: ProcessGroup | None = None, **training: Any) -> Layout:
    recipe = tiny_recipe({"sharding": sharding}, **training)
    return make_layout(recipe, tiny_architecture(), processes, CPU)


def test_single_process_has_all_rows() -> None:
    batch = random_batch()
    assert layout_for({}) is ALONE
    assert ALONE.local_rows(batch) is batch


def test_rows_are_partitioned() -> None:
    batch = random_batch(num_rows=4)
    parts = [Layout(process_id, 2).local_rows(batch).tokens for process_id in range(2)]
    np.testing.assert_array_equal(parts[1], batch.tokens[[1, 3]])
    np.testing.assert_array_equal(np.stack(parts, axis=1).reshape(batch.tokens.shape), batch.tokens)


def test_process_0_is_first() -> None:
    assert [Layout(process_id, 2).is_first for process_id in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("sharding", "processes", "training", "message"),
    [
        pytest.param({"fsdp": 1, "tensor": 2}, TWO, {}, r"sharding.tensor 2.*--engine jax", id="tensor"),
        pytest.param({}, TWO, {"mode": "qlora"}, r"quantised weights.*sharding.data to auto", id="qlora"),
        pytest.param({"fsdp": 2}, None, {}, "cannot be built from 1 device", id="oversized-mesh"),
        pytest.param({}, TWO, {"batch_size": 3}, "cannot be split over 2 devices", id="indivisible-rows"),
        pytest.param({"fsdp": 1}, TWO, {}, "uses 1 of 2 processes", id="idle-process"),
    ],
)
def test_unsupported_layout_is_rejected(
    sharding: dict[str, Any], processes: ProcessGroup | None, training: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        layout_for(sharding, processes, **training)
