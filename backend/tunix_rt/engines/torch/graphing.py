"""The decoder as one CUDA graph: the host starts a micro-batch with one call instead of a thousand.

Adapters add many small kernels. With few rows at a time, which is what keeps memory low, a GPU is done with
them before the host has started the next. A graph is recorded once and replayed for every micro-batch, so
everything that it reads must have one shape and one place. Rows have one size. Borders are made as many as
the graph was recorded with; more of them, or a longer example, and it is recorded again. Both are powers of
two, so that happens a few times in a run at most.
"""

import gc
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from tunix_rt.engines.torch.attention import Borders
from tunix_rt.engines.torch.graph_memory import counted_as_replayed
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch_compiling import Compiling
from tunix_rt.engines.torch_kernels import TAKING_BORDERS
from tunix_rt.recipes.types import Recipe

Hidden = Callable[[Tensor, Tensor, Tensor, Borders | None], Tensor]
"""As `Decoder.hidden`."""


def can_be_graphed(decoder: Decoder, recipe: Recipe, compiling: Compiling) -> bool:
    """Whether replaying pays and gives what computing gives.

    Only adapters leave a GPU waiting. Dropout draws other numbers each time. Gradients of a replay lie in the
    memory of the graph until engines/torch/gradients.py moves them out of it.
    """
    if recipe.lora is None or recipe.lora.dropout > 0 or recipe.training.remat == "block":
        return False
    return compiling.is_on and decoder.options.kernel in TAKING_BORDERS


class GraphedDecoder:
    """The hidden states of a decoder in training mode, recorded with their gradients at the first call."""

    def __init__(self, decoder: Decoder, device_use: threading.Lock) -> None:
        """Record nothing yet: kernels are compiled for the first batch.

        Args:
            decoder: What is recorded.
            device_use: Whoever else uses the device from another thread holds it meanwhile: a graph cannot be
                recorded while memory is taken beside it.
        """
        self._decoder = decoder
        self._device_use = device_use
        self._recording: _Recording | None = None

    def __call__(
        self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, borders: Borders | None
    ) -> Tensor:
        """As `Decoder.hidden`; without gradients it is computed, not replayed."""
        assert borders is not None
        if not torch.is_grad_enabled():
            return self._decoder.hidden(tokens, segment_ids, positions, borders)
        num_places, longest = self._recorded_for(borders)
        # As many empty segments more at the end.
        places = pad(borders.places, (0, num_places - len(borders.places)), value=tokens.numel())
        inputs = (tokens, segment_ids, positions, places)
        if self._recording is None:
            replay = self._recorded(inputs, longest)
            self._recording = _Recording(replay, num_places, longest)
        return self._recording.replay(*inputs)

    def _recorded_for(self, borders: Borders) -> tuple[int, int]:
        """How many borders and how long an example the graph takes; forgets one that is too small."""
        recording, num_places = self._recording, len(borders.places)
        if recording is None:
            return num_places, borders.longest
        size = max(num_places, recording.num_places), max(borders.longest, recording.longest)
        if size != (recording.num_places, recording.longest):
            self._forget_recording()
        return size

    def _forget_recording(self) -> None:
        """Give its memory back before the next one takes as much."""
        self._recording = None
        torch.cuda.synchronize()  # it may still be replayed
        gc.collect()
        torch.cuda.empty_cache()

    def _recorded(self, inputs: tuple[Tensor, ...], longest: int) -> Callable[..., Tensor]:
        # The graph keeps what it was recorded with: later inputs are copied there.
        samples = tuple(tensor.clone() for tensor in inputs)
        # Recording has a stream of its own: torch would warn that gradients arrive from another one.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        module = _DecoderModule(self._decoder, longest)
        with self._device_use, counted_as_replayed(inputs[0].device):
            graphed: Any = torch.cuda.make_graphed_callables(module, samples, allow_unused_input=True)
        replay: Callable[..., Tensor] = graphed
        return replay


@dataclass(frozen=True)
class _Recording:
    """A graph, and the borders that it takes."""

    replay: Callable[..., Tensor]
    num_places: int
    longest: int


class _DecoderModule(nn.Module):
    """What torch records: tensors in, one tensor out, with the parameters in sight."""

    def __init__(self, decoder: Decoder, longest: int) -> None:
        super().__init__()
        self.module = decoder.module
        self._hidden: Hidden = decoder.hidden
        self._longest = longest

    def forward(self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, places: Tensor) -> Tensor:
        return self._hidden(tokens, segment_ids, positions, Borders(places, self._longest))
