"""torch.compile, CUDA graphs, Liger kernels.

Adapters add many small kernels. With few rows at a time, which is what keeps memory low, a GPU is done with
them before the host has started the next. A graph is recorded once and replayed for every micro-batch, so
everything that it reads must have one shape and one place. Rows have one size. Borders are made as many as
the graph was recorded with; more of them, or a longer example, and it is recorded again. Both are powers of
two, so that happens a few times in a run at most.

A compiler fuses these by itself. Where it does not run (engines/torch_compiling.py says when), each of their
operations is a pass through the memory of the GPU. Liger makes one pass of a norm and one of a gate, and
keeps less of them for the backward pass.
"""

import gc
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
import torch._functorch.config
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils._triton import has_triton

from tunix_rt.engines.planning.kernels import TAKING_BORDERS, Compiling, resolve_compiling, saved_share
from tunix_rt.engines.planning.targets import Platform
from tunix_rt.engines.torch.devices import counted_as_replayed
from tunix_rt.engines.torch.model.attention import Borders
from tunix_rt.engines.torch.model.decoder import Decoder, RmsNorm
from tunix_rt.recipes.types import Recipe


def choose_compiling(
    recipe: Recipe,
    device: torch.device,
    *,
    num_steps: int,
    num_processes: int = 1,
    finds_triton: Callable[[], bool] = has_triton,
) -> Compiling:
    """Decide by the device, the recipe, the length of the run and what is installed."""
    platform: Platform = "gpu" if device.type == "cuda" else "cpu"
    choice = resolve_compiling(recipe, platform, num_steps=num_steps, num_processes=num_processes)
    if choice.is_on and not finds_triton():
        return Compiling(False, "Triton is not installed")
    return choice


def compile_layers(layers: Iterable[nn.Module], recipe: Recipe, *, backend: str = "inductor") -> None:
    """Compile each layer in place, when it is first called; its parameters and their names stay.

    What the backward pass computes again is set for the process: it trains one model.
    """
    torch._functorch.config.activation_memory_budget = saved_share(recipe)
    for layer in layers:
        layer.compile(backend=backend, dynamic=False)


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


@dataclass(frozen=True)
class LigerChoice:
    """Whether Liger's kernels compute norms and gates."""

    is_on: bool
    reason: str

    def __str__(self) -> str:
        return f"Liger kernels are {'' if self.is_on else 'not '}used: {self.reason}"


def has_liger() -> bool:
    """Whether Liger is installed."""
    return find_spec("liger_kernel") is not None


def choose_liger(
    compiling: Compiling,
    device: torch.device,
    *,
    has_adapters: bool,
    finds_liger: Callable[[], bool] = has_liger,
) -> LigerChoice:
    """Decide by what else fuses, the device, what is trained and what is installed."""
    if compiling.is_on:
        return LigerChoice(False, "compiled layers have kernels of their own")
    if device.type != "cuda":
        return LigerChoice(False, "they run on GPUs only")
    if has_adapters:
        # Seen on an H200: full training 4 % faster; of LoRA and QLoRA, epochs with and without overlap.
        return LigerChoice(False, "with adapters they have shown no gain: the GPU waits for the host")
    if not finds_liger():
        return LigerChoice(False, "liger-kernel is not installed")
    return LigerChoice(True, "norms and gates are one kernel each")


def use_liger(decoder: Decoder) -> None:
    """Let Liger compute the norms and gates of a decoder; modules, parameters and their names stay.

    Before parameters are spread over processes or adapters are compiled: whoever wraps a module keeps it.
    """
    from liger_kernel.transformers.functional import liger_geglu, liger_rms_norm, liger_swiglu

    gate = liger_swiglu if decoder.architecture.activation == "silu" else liger_geglu
    for module in decoder.module.modules():
        if isinstance(module, RmsNorm):
            _compute_by(module, partial(_norm, module, liger_rms_norm))
        elif hasattr(module, "gate_proj"):
            _compute_by(module, partial(_gated, module, gate))


def _compute_by(module: nn.Module, forward: Callable[[Tensor], Tensor]) -> None:
    module.forward = forward


def _norm(norm: RmsNorm, kernel: Callable[..., Tensor], x: Tensor) -> Tensor:
    # "gemma": all in float32, whatever the family; in place, it would overwrite what a residual needs.
    offset = 1.0 if norm.adds_one else 0.0
    return kernel(x, norm.weight, norm.epsilon, offset=offset, casting_mode="gemma", in_place=False)


def _gated(mlp: Any, kernel: Callable[[Tensor, Tensor], Tensor], x: Tensor) -> Tensor:
    projected: Tensor = mlp.down_proj(kernel(mlp.gate_proj(x), mlp.up_proj(x)))
    return projected
