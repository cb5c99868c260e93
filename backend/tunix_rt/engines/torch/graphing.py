"""The decoder as one CUDA graph: the host starts a micro-batch with one call instead of a thousand.

Adapters add many small kernels. With few rows at a time, which is what keeps memory low, a GPU is done with
them before the host has started the next. A graph is recorded once and replayed for every micro-batch, so
everything that it reads must have one shape and one place: rows of one size, and borders whose longest
segment is taken to be as long as a row.
"""

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tunix_rt.config.recipe import Recipe
from tunix_rt.engines.torch.attention import Borders
from tunix_rt.engines.torch.graph_memory import counted_as_replayed
from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch_compiling import Compiling
from tunix_rt.engines.torch_kernels import TAKING_BORDERS

Hidden = Callable[[Tensor, Tensor, Tensor, Borders | None], Tensor]
"""As `Decoder.hidden`."""


def can_be_graphed(decoder: Decoder, recipe: Recipe, compiling: Compiling) -> bool:
    """Whether replaying pays and gives what computing gives.

    Only adapters leave a GPU waiting. Dropout draws other numbers each time. Gradients of a replay lie in the
    memory of the graph, and engines/torch/gradients.py moves those of the compute format out of it.
    """
    if recipe.lora is None or recipe.lora.dropout > 0 or recipe.training.remat == "block":
        return False
    return compiling.is_on and decoder.options.kernel in TAKING_BORDERS


class GraphedDecoder:
    """The hidden states of a decoder in training mode, recorded with their gradients at the first call."""

    def __init__(self, decoder: Decoder, row_length: int, device_use: threading.Lock) -> None:
        """Record nothing yet: kernels are compiled for the first batch.

        Args:
            decoder: What is recorded.
            row_length: Of every micro-batch.
            device_use: Whoever else uses the device from another thread holds it meanwhile: a graph cannot be
                recorded while memory is taken beside it.
        """
        self._decoder = decoder
        self._device_use = device_use
        self._longest = 1 << (row_length - 1).bit_length()
        self._replay: Callable[..., Tensor] | None = None

    def __call__(
        self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, borders: Borders | None
    ) -> Tensor:
        """As `Decoder.hidden`; without gradients it is computed, not replayed."""
        assert borders is not None
        if not torch.is_grad_enabled():
            return self._decoder.hidden(tokens, segment_ids, positions, borders)
        inputs = (tokens, segment_ids, positions, borders.places)
        if self._replay is None:
            self._replay = self._recorded(inputs)
        return self._replay(*inputs)

    def _recorded(self, inputs: tuple[Tensor, ...]) -> Callable[..., Tensor]:
        # The graph keeps what it was recorded with: later inputs are copied there.
        samples = tuple(tensor.clone() for tensor in inputs)
        # Recording has a stream of its own: torch would warn that gradients arrive from another one.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        module = _DecoderModule(self._decoder, self._longest)
        with self._device_use, counted_as_replayed(inputs[0].device):
            graphed: Any = torch.cuda.make_graphed_callables(module, samples, allow_unused_input=True)
        replay: Callable[..., Tensor] = graphed
        return replay


class _DecoderModule(nn.Module):
    """What torch records: tensors in, one tensor out, with the parameters in sight."""

    def __init__(self, decoder: Decoder, longest: int) -> None:
        super().__init__()
        self.module = decoder.module
        self._hidden: Hidden = decoder.hidden
        self._longest = longest

    def forward(self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, places: Tensor) -> Tensor:
        return self._hidden(tokens, segment_ids, positions, Borders(places, self._longest))
