"""Attention within packed segments, with every kernel."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from support.rows import packed_rows
from support.tiny_models import tiny_model
from support.torch_models import decoder_of, inputs_of
from torch import Tensor

from tunix_rt.engines.jax.model import attention as jax_attention
from tunix_rt.engines.planning.kernels import TorchKernel
from tunix_rt.engines.torch.model.attention import (
    FULL,
    SLIDING,
    causal_mask,
    dense_attention,
    packed_masks,
    sdpa_attention,
    segment_bounds,
)

SEGMENTS = torch.tensor([[1, 1, 2, 2, 0], [1, 1, 1, 0, 0]])


def _render_mask(mask: Tensor) -> list[str]:
    return ["".join("x" if attends else "." for attends in row) for row in mask.tolist()]


def test_mask_is_causal_within_segments() -> None:
    mask = causal_mask(SEGMENTS, None)

    assert mask.shape == (2, 1, 5, 5)
    assert _render_mask(mask[0, 0]) == ["x....", "xx...", "..x..", "..xx.", "....x"]
    assert _render_mask(mask[1, 0]) == ["x....", "xx...", "xxx..", "...x.", "...xx"]


def test_window_includes_current_token() -> None:
    assert _render_mask(causal_mask(SEGMENTS, 2)[1, 0]) == ["x....", "xx...", ".xx..", "...x.", "...xx"]


@pytest.mark.parametrize("window", [None, 2, 3])
def test_masks_match_jax(window: int | None) -> None:
    expected = jax_attention.causal_mask(jnp.asarray(SEGMENTS.numpy()), window)

    np.testing.assert_array_equal(causal_mask(SEGMENTS, window)[:, 0].numpy(), np.asarray(expected))


def test_windowed_models_have_two_masks() -> None:
    masks = packed_masks(SEGMENTS, (2, None, 2))

    assert isinstance(masks, dict)
    assert torch.equal(masks[FULL], causal_mask(SEGMENTS, None))
    assert torch.equal(masks[SLIDING], causal_mask(SEGMENTS, 2))
    assert isinstance(packed_masks(SEGMENTS, (None, None)), Tensor)


def test_bounds_are_segment_starts_and_end() -> None:
    cu_seqlens, max_seqlen = segment_bounds(SEGMENTS)

    assert cu_seqlens[:6].tolist() == [0, 2, 4, 5, 8, 10]
    assert cu_seqlens.dtype == torch.int32
    assert max_seqlen == 128  # a power of two, and at least one kernel tile


def test_padding_is_cut_at_longest_example() -> None:
    row = torch.zeros(1, 1000, dtype=torch.int32)
    row[0, :130] = 1

    cu_seqlens, max_seqlen = segment_bounds(row)

    assert max_seqlen == 256
    assert cu_seqlens[:6].tolist() == [0, 130, 386, 642, 898, 1000]
    assert segment_bounds(torch.zeros(2, 130, dtype=torch.int32)).cu_seqlens[:5].tolist() == [
        0,
        128,
        130,
        258,
        260,
    ]


def test_bounds_have_few_different_lengths() -> None:
    row = torch.arange(300)[None]

    assert len(segment_bounds(SEGMENTS).cu_seqlens) == len(segment_bounds(row[:, :255]).cu_seqlens) == 256
    assert len(segment_bounds(row[:, :256]).cu_seqlens) == len(segment_bounds(row).cu_seqlens) == 512
    assert set(segment_bounds(row).cu_seqlens[300:].tolist()) == {300}


@pytest.mark.parametrize(
    ("name", "kernel"), [("gemma2", "dense"), ("gemma3", "sdpa"), ("llama", "dense"), ("llama", "sdpa")]
)
def test_packed_examples_are_independent(name: str, kernel: TorchKernel, tmp_path: Path) -> None:
    tiny_model(name).save_pretrained(tmp_path)
    decoder = decoder_of(tmp_path, kernel=kernel)
    first, second, third, other = (np.arange(1, n, dtype=np.int32) + n for n in (9, 7, 6, 7))
    other = other[::-1].copy()

    with torch.no_grad():
        before = decoder.hidden(*inputs_of(packed_rows([[first, second, third]], 24)))
        after = decoder.hidden(*inputs_of(packed_rows([[first, other, third]], 24)))

    assert torch.equal(before[:, :8], after[:, :8])
    assert torch.equal(before[:, 14:], after[:, 14:])
    assert not torch.equal(before[:, 8:14], after[:, 8:14])


def test_gradients_stay_within_segments() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, heads, 5, 8, requires_grad=True) for heads in (4, 2, 2))
    mask = causal_mask(SEGMENTS, None)

    for attention in (dense_attention, sdpa_attention):
        attended, _ = attention(None, query, key, value, mask, scaling=0.3)
        (gradient,) = torch.autograd.grad(attended[0, :2].sum(), value)

        assert gradient[0, :, :2].any()
        assert not gradient[0, :, 2:].any()
        assert not gradient[1].any()


def test_dense_softcap_matches_jax() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, heads, 5, 8) * 3 for heads in (4, 2, 2))
    mask = causal_mask(SEGMENTS, None)

    attended, _ = dense_attention(None, query, key, value, mask, scaling=0.5, softcap=2.0)

    expected = jax_attention.dense_attention(
        *(jnp.asarray(heads.transpose(1, 2).numpy()) for heads in (query, key, value)),
        jnp.asarray(mask[:, 0].numpy()),
        scale=0.5,
        softcap=2.0,
    )
    np.testing.assert_allclose(attended.numpy(), np.asarray(expected), atol=1e-5)
