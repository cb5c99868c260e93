"""Checksums of arrays detect a changed bit and swapped elements."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tunix_rt.engines.jax.training.checkpoints import tree_checksums

ARRAY = np.arange(24, dtype=np.float32).reshape(4, 6)


def checksum(array: np.ndarray) -> int:
    return int(tree_checksums({"array": jnp.asarray(array)})[0])


def test_flipped_bit_changes_checksum() -> None:
    flipped = ARRAY.copy()
    flipped.view(np.uint32)[2, 3] ^= 1
    assert checksum(flipped) != checksum(ARRAY)


def test_swapped_elements_change_checksum() -> None:
    swapped = ARRAY.copy()
    swapped[0, 0], swapped[3, 5] = ARRAY[3, 5], ARRAY[0, 0]
    assert checksum(swapped) != checksum(ARRAY)


def test_checksum_is_deterministic() -> None:
    assert checksum(ARRAY.copy()) == checksum(ARRAY)
    assert tree_checksums({"a": jnp.zeros(3), "b": jnp.ones(3)}).shape == (2,)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.int32, jnp.uint8])
def test_checksum_supports_dtype(dtype: jax.typing.DTypeLike) -> None:
    zeros, ones = jnp.zeros((2, 3), dtype), jnp.ones((2, 3), dtype)
    assert int(tree_checksums(zeros)[0]) != int(tree_checksums(ones)[0])
