"""A CUDA graph is captured once, and again for larger bounds. A fake stands in for the capture on a GPU."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from tunix_rt.engines.torch import devices
from tunix_rt.engines.torch.model.attention import SegmentBounds
from tunix_rt.engines.torch.model.compiled import CudaGraphDecoder
from tunix_rt.engines.torch.model.decoder import Decoder

TOKENS = torch.zeros(2, 500, dtype=torch.int64)


class FakeCapture:
    """Replaces `make_graphed_callables`: computes eagerly, but requires the shapes of its samples."""

    def __init__(self) -> None:
        self.num_offsets: list[int] = []

    def __call__(self, module: nn.Module, samples: tuple[Tensor, ...], **_: Any) -> Callable[..., Tensor]:
        self.num_offsets.append(len(samples[-1]))

        def replay(*inputs: Tensor) -> Tensor:
            assert [one.shape for one in inputs] == [one.shape for one in samples]
            result: Tensor = module(*inputs)
            return result

        return replay


@pytest.fixture
def capture(monkeypatch: pytest.MonkeyPatch) -> FakeCapture:
    capture = FakeCapture()
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", capture)
    monkeypatch.setattr(devices, "_graph_memory", devices._GraphMemory())
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    for name in ("max_memory_allocated", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda _: 0)
    return capture


def _graph_decoder() -> CudaGraphDecoder:
    """A decoder whose hidden states are the bounds that it was given."""

    def hidden(tokens: Tensor, segment_ids: Tensor, positions: Tensor, bounds: SegmentBounds) -> Tensor:
        return torch.cat([bounds.cu_seqlens, torch.tensor([bounds.max_seqlen])])

    decoder = SimpleNamespace(module=nn.Identity(), hidden=hidden)
    return CudaGraphDecoder(cast(Decoder, decoder), threading.Lock())


def _bounds_seen(decoder: CudaGraphDecoder, num_offsets: int, max_seqlen: int) -> tuple[int, int]:
    """The number of offsets and the `max_seqlen` that reach the decoder."""
    cu_seqlens = torch.full((num_offsets,), 1000, dtype=torch.int32)
    *offsets, longest = decoder(TOKENS, TOKENS, TOKENS, SegmentBounds(cu_seqlens, max_seqlen)).tolist()
    assert set(offsets) == {1000}  # the added segments are empty
    return len(offsets), longest


def test_smaller_bounds_reuse_capture(capture: FakeCapture) -> None:
    decoder = _graph_decoder()
    assert _bounds_seen(decoder, 512, 256) == (512, 256)
    assert _bounds_seen(decoder, 256, 128) == (512, 256)
    assert capture.num_offsets == [512]


def test_larger_bounds_are_captured_again(capture: FakeCapture) -> None:
    decoder = _graph_decoder()
    assert _bounds_seen(decoder, 256, 512) == (256, 512)
    assert _bounds_seen(decoder, 512, 128) == (512, 512)
    assert _bounds_seen(decoder, 256, 1024) == (512, 1024)
    assert _bounds_seen(decoder, 256, 512) == (512, 1024)
    assert capture.num_offsets == [256, 512, 512]


def test_no_grad_skips_capture(capture: FakeCapture) -> None:
    with torch.no_grad():
        assert _bounds_seen(_graph_decoder(), 256, 128) == (256, 128)
    assert capture.num_offsets == []
