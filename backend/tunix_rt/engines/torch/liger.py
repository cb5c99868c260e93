"""Liger's kernels for norms and gates, where the layers are not compiled.

A compiler fuses these by itself. Where it does not run (engines/torch_compiling.py says when), each of their
operations is a pass through the memory of the GPU. Liger makes one pass of a norm and one of a gate, and
keeps less of them for the backward pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from tunix_rt.engines.torch.model import Decoder
from tunix_rt.engines.torch.norms import RmsNorm
from tunix_rt.engines.torch_compiling import Compiling


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
