"""Attention: the dense reference matches the definition, and the fused kernels match the reference."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.attention import (
    causal_mask,
    cudnn_attention,
    dense_attention,
    splash_attention,
)


def _heads(row_length: int, num_heads: int, num_kv_heads: int, head_dim: int) -> tuple[Array, Array, Array]:
    keys = jax.random.split(jax.random.key(0), 3)
    q, k, v = (
        jax.random.normal(key, (2, row_length, num, head_dim))
        for key, num in zip(keys, (num_heads, num_kv_heads, num_kv_heads), strict=True)
    )
    return q, k, v


def _segment_ids(row_length: int, *rows: tuple[int, ...]) -> NDArray[np.int32]:
    """Build padded rows from segment lengths: (2, 1) in a row of 4 gives 1 1 2 0."""
    ids = np.zeros((len(rows), row_length), np.int32)
    for row, lengths in enumerate(rows):
        ids[row, : sum(lengths)] = np.repeat(np.arange(1, len(lengths) + 1), lengths)
    return ids


def test_mask_respects_segments_and_window() -> None:
    mask = causal_mask(jnp.asarray([[1, 1, 1, 2, 2, 0]]), window=2)
    drawn = ["".join("x" if seen else "." for seen in row) for row in np.asarray(mask[0])]
    assert drawn == [
        "x.....",
        "xx....",
        ".xx...",
        "...x..",
        "...xx.",
        ".....x",
    ]


def test_dense_attention_matches_definition() -> None:
    q, k, v = _heads(5, num_heads=4, num_kv_heads=2, head_dim=8)
    mask = causal_mask(jnp.asarray(_segment_ids(5, (3, 2), (4,))), None)
    actual = np.asarray(dense_attention(q, k, v, mask, scale=0.5, softcap=2.0))
    for row in range(2):
        for head in range(4):
            scores = np.asarray(q[row, :, head] @ k[row, :, head // 2].T) * 0.5
            scores = np.where(mask[row], 2.0 * np.tanh(scores / 2.0), -np.inf)
            weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
            np.testing.assert_allclose(actual[row, :, head], weights @ v[row, :, head // 2], atol=1e-5)


@pytest.mark.parametrize(
    ("num_kv_heads", "head_dim", "window", "softcap"),
    [(2, 128, None, None), (1, 64, 20, 3.0)],
)
def test_splash_matches_dense_attention(
    num_kv_heads: int, head_dim: int, window: int | None, softcap: float | None
) -> None:
    heads = _heads(256, 4, num_kv_heads, head_dim)
    segment_ids = jnp.asarray(_segment_ids(256, (40, 160), (130, 10)))

    def splash(*heads: Array) -> Array:
        return splash_attention(
            *heads, segment_ids, scale=0.1, window=window, softcap=softcap, sharding=None, interpret=True
        )

    def dense(*heads: Array) -> Array:
        return dense_attention(*heads, causal_mask(segment_ids, window), scale=0.1, softcap=softcap)

    for actual, expected in zip(
        _value_and_gradients(splash, heads), _value_and_gradients(dense, heads), strict=True
    ):
        np.testing.assert_allclose(actual, expected, atol=2e-5)


def _value_and_gradients(attention: Callable[..., Array], heads: tuple[Array, ...]) -> list[Array]:
    attended, backward = jax.vjp(jax.jit(attention), *heads)
    return [attended, *backward(jnp.cos(attended))]


@pytest.mark.gpu
def test_cudnn_matches_dense_attention() -> None:
    if jax.default_backend() != "gpu":
        pytest.skip("needs an NVIDIA GPU")
    exact = _heads(256, 4, 2, 128)
    rounded = tuple(array.astype(jnp.bfloat16) for array in exact)
    mask = causal_mask(jnp.asarray(_segment_ids(256, (40, 160), (130, 10))), 100)

    def cudnn(*heads: Array) -> Array:
        return cudnn_attention(*heads, mask, scale=0.1)

    def dense(*heads: Array) -> Array:
        return dense_attention(*heads, mask, scale=0.1, softcap=None)

    for actual, reference in zip(
        _value_and_gradients(cudnn, rounded), _value_and_gradients(dense, exact), strict=True
    ):
        error = jnp.linalg.norm(actual.astype(jnp.float32) - reference) / jnp.linalg.norm(reference)
        assert error < 0.02
