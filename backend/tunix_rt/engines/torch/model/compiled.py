"""torch.compile, CUDA graphs and Liger kernels.

Adapters add many small kernels. With few rows at a time, which keeps memory low, a GPU finishes them before
the host has launched the next ones. A CUDA graph is captured once and replayed for every micro-batch, so all
its inputs must have fixed shapes and addresses. Rows have one size. Segment bounds are padded to the captured
size; if there are more of them, or a longer example, the graph is captured again. Both sizes are powers of
two, so this happens a few times per run at most.

torch.compile fuses these kernels by itself. Where it is off (planning/kernels.py decides), every operation is
a pass through GPU memory. Liger fuses a norm or a gate into one pass, and keeps less for the backward pass.
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
from tunix_rt.engines.torch.devices import count_graph_memory
from tunix_rt.engines.torch.model.attention import SegmentBounds
from tunix_rt.engines.torch.model.decoder import Decoder, RmsNorm
from tunix_rt.engines.types import Platform
from tunix_rt.recipes.types import Recipe


def choose_compiling(
    recipe: Recipe,
    device: torch.device,
    *,
    num_steps: int,
    num_processes: int = 1,
    finds_triton: Callable[[], bool] = has_triton,
) -> Compiling:
    """Decide from the device, the recipe, the length of the run and the installed packages."""
    platform: Platform = "gpu" if device.type == "cuda" else "cpu"
    choice = resolve_compiling(recipe, platform, num_steps=num_steps, num_processes=num_processes)
    if choice.is_on and not finds_triton():
        return Compiling(False, "Triton is not installed")
    return choice


def compile_layers(layers: Iterable[nn.Module], recipe: Recipe, *, backend: str = "inductor") -> None:
    """Compile each layer in place on its first call; parameters and their names stay.

    The memory budget of activations is set for the whole process, which trains one model.
    """
    torch._functorch.config.activation_memory_budget = saved_share(recipe)
    for layer in layers:
        layer.compile(backend=backend, dynamic=False)


Hidden = Callable[[Tensor, Tensor, Tensor, SegmentBounds | None], Tensor]
"""The signature of `Decoder.hidden`."""


def can_use_cuda_graph(decoder: Decoder, recipe: Recipe, compiling: Compiling) -> bool:
    """Whether a CUDA graph is faster and gives the same results.

    Only adapters leave a GPU waiting for the host. Dropout needs new random numbers on every call. Gradients
    of a replay stay in the memory of the graph until `GraphGradientSums` copies them.
    """
    if recipe.lora is None or recipe.lora.dropout > 0 or recipe.training.remat == "block":
        return False
    return compiling.is_on and decoder.options.kernel in TAKING_BORDERS


class CudaGraphDecoder:
    """The hidden states of a decoder in training mode, captured with the backward pass on the first call."""

    def __init__(self, decoder: Decoder, device_use: threading.Lock) -> None:
        """Capture nothing yet: kernels are compiled for the first batch.

        Other threads hold `device_use` while they use the device: a graph cannot be captured while another
        thread allocates memory.
        """
        self._decoder = decoder
        self._device_use = device_use
        self._captured: _CapturedGraph | None = None

    def __call__(
        self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, bounds: SegmentBounds | None
    ) -> Tensor:
        """The hidden states, as `Decoder.hidden`; without gradients they are computed, not replayed."""
        assert bounds is not None
        if not torch.is_grad_enabled():
            return self._decoder.hidden(tokens, segment_ids, positions, bounds)
        num_offsets, max_seqlen = len(bounds.cu_seqlens), bounds.max_seqlen
        if (graph := self._captured) is not None:
            num_offsets, max_seqlen = max(num_offsets, graph.num_offsets), max(max_seqlen, graph.max_seqlen)
            if (num_offsets, max_seqlen) != (graph.num_offsets, graph.max_seqlen):
                # Free its memory before the next graph allocates as much.
                graph = self._captured = None
                torch.cuda.synchronize()  # it may still be replayed
                gc.collect()
                torch.cuda.empty_cache()
        # Pad with empty segments.
        cu_seqlens = pad(bounds.cu_seqlens, (0, num_offsets - len(bounds.cu_seqlens)), value=tokens.numel())
        inputs = (tokens, segment_ids, positions, cu_seqlens)
        if self._captured is None:
            replay = self._capture(inputs, max_seqlen)
            self._captured = _CapturedGraph(replay, num_offsets, max_seqlen)
        return self._captured.replay(*inputs)

    def _capture(self, inputs: tuple[Tensor, ...], max_seqlen: int) -> Callable[..., Tensor]:
        # The graph keeps its sample inputs; later inputs are copied into them.
        samples = tuple(tensor.clone() for tensor in inputs)
        # Capturing uses its own stream: torch would warn that gradients arrive from another stream.
        torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        module = _DecoderModule(self._decoder, max_seqlen)
        with self._device_use, count_graph_memory(inputs[0].device):
            graphed: Any = torch.cuda.make_graphed_callables(module, samples, allow_unused_input=True)
        replay: Callable[..., Tensor] = graphed
        return replay


@dataclass(frozen=True)
class _CapturedGraph:
    """A graph and the sizes of the segment bounds that it takes."""

    replay: Callable[..., Tensor]
    num_offsets: int
    max_seqlen: int


class _DecoderModule(nn.Module):
    """The module that torch captures: tensors in, one tensor out, with the parameters as attributes."""

    def __init__(self, decoder: Decoder, max_seqlen: int) -> None:
        super().__init__()
        self.module = decoder.module
        self._hidden: Hidden = decoder.hidden
        self._longest = max_seqlen

    def forward(self, tokens: Tensor, segment_ids: Tensor, positions: Tensor, cu_seqlens: Tensor) -> Tensor:
        return self._hidden(tokens, segment_ids, positions, SegmentBounds(cu_seqlens, self._longest))


@dataclass(frozen=True)
class LigerChoice:
    """Whether Liger kernels compute norms and gates."""

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
    """Decide from the compiler, the device, the training mode and the installed packages."""
    if compiling.is_on:
        return LigerChoice(False, "compiled layers have kernels of their own")
    if device.type != "cuda":
        return LigerChoice(False, "they run on GPUs only")
    if has_adapters:
        # Measured on an H200: full training is 4 % faster; LoRA and QLoRA show no clear difference.
        return LigerChoice(False, "with adapters they have shown no gain: the GPU waits for the host")
    if not finds_liger():
        return LigerChoice(False, "liger-kernel is not installed")
    return LigerChoice(True, "norms and gates are one kernel each")


def apply_liger(decoder: Decoder) -> None:
    """Compute the norms and gates of a decoder with Liger; modules, parameters and their names stay.

    Call this before sharding parameters or compiling layers, because these wrap the current `forward`.
    """
    from liger_kernel.transformers.functional import liger_geglu, liger_rms_norm, liger_swiglu

    # Layers with another activation keep their own code.
    gates = {"silu": liger_swiglu, "gelu_tanh": liger_geglu}
    gate = gates.get(decoder.architecture.activation)
    for module in decoder.module.modules():
        if isinstance(module, RmsNorm):
            module.forward = partial(_norm, module, liger_rms_norm)  # type: ignore[method-assign]
        elif gate is not None and hasattr(module, "gate_proj"):
            module.forward = partial(_gated, module, gate)


def _norm(norm: RmsNorm, kernel: Callable[..., Tensor], x: Tensor) -> Tensor:
    # "gemma" computes everything in float32 for any family; in_place would overwrite the residual.
    offset = 1.0 if norm.adds_one else 0.0
    return kernel(x, norm.weight, norm.epsilon, offset=offset, casting_mode="gemma", in_place=False)


def _gated(mlp: Any, kernel: Callable[[Tensor, Tensor], Tensor], x: Tensor) -> Tensor:
    projected: Tensor = mlp.down_proj(kernel(mlp.gate_proj(x), mlp.up_proj(x)))
    return projected
