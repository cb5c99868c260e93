"""A CUDA graph is captured once, and again for bounds that do not fit. Torch's capture needs a GPU."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from tunix_rt.engines.torch import devices as graph_memory
from tunix_rt.engines.torch.model.attention import SegmentBounds
from tunix_rt.engines.torch.model.compiled import CudaGraphDecoder
from tunix_rt.engines.torch.model.decoder import Decoder

TOKENS = torch.zeros(2, 500, dtype=torch.int64)


class Recorder:
    """In place of `make_graphed_callables`: computes, but takes only what has the shapes of its samples."""

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
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorder)
    monkeypatch.setattr(graph_memory, "_graph_memory", graph_memory._GraphMemory())
    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    for name in ("max_memory_allocated", "memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda _: 0)
    return recorder


def _graphed() -> CudaGraphDecoder:
    """A decoder whose hidden states are the bounds that it was given."""

    def hidden(tokens: Tensor, segment_ids: Tensor, positions: Tensor, bounds: SegmentBounds) -> Tensor:
        return torch.cat([bounds.cu_seqlens, torch.tensor([bounds.max_seqlen])])

    decoder = SimpleNamespace(module=nn.Identity(), hidden=hidden)
    return CudaGraphDecoder(cast(Decoder, decoder), threading.Lock())


def _seen(graphed: CudaGraphDecoder, num_offsets: int, max_seqlen: int) -> tuple[int, int]:
    """Number of offsets and `max_seqlen` that reach the decoder."""
    cu_seqlens = torch.full((num_offsets,), 1000, dtype=torch.int32)
    *offsets, longest = graphed(TOKENS, TOKENS, TOKENS, SegmentBounds(cu_seqlens, max_seqlen)).tolist()
    assert set(offsets) == {1000}  # what was added is empty
    return len(offsets), longest


def test_one_recording_serves_what_fits_into_it(recorder: Recorder) -> None:
    graphed = _graphed()
    assert _seen(graphed, 512, 256) == (512, 256)
    assert _seen(graphed, 256, 128) == (512, 256)
    assert recorder.num_offsets == [512]


def test_larger_bounds_are_captured_again(recorder: Recorder) -> None:
    graphed = _graphed()
    assert _seen(graphed, 256, 512) == (256, 512)
    assert _seen(graphed, 512, 128) == (512, 512)
    assert _seen(graphed, 256, 1024) == (512, 1024)
    assert _seen(graphed, 256, 512) == (512, 1024)
    assert recorder.num_offsets == [256, 512, 512]


def test_without_gradients_it_is_computed(recorder: Recorder) -> None:
    with torch.no_grad():
        assert _seen(_graphed(), 256, 128) == (256, 128)
    assert recorder.num_offsets == []
