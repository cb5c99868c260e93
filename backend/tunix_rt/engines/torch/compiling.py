"""Whether torch.compile makes kernels for the layers: the one place that decides, and says why.

It fuses what lies between the matrix products (norms, rotations, gates, casts), each of which is otherwise a
pass through the memory of the GPU. Every layer is compiled by itself, so one compilation serves all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils._triton import has_triton

from tunix_rt.config.recipe import Recipe

_MIN_STEPS = 100
"""Assumed, not measured: compiling takes about a minute, and fewer steps than this do not earn it back."""


@dataclass(frozen=True)
class Compiling:
    """Whether the layers are compiled."""

    is_on: bool
    reason: str

    def __str__(self) -> str:
        return f"layers are {'' if self.is_on else 'not '}compiled: {self.reason}"


def choose_compiling(
    recipe: Recipe,
    device: torch.device,
    *,
    num_steps: int,
    num_processes: int = 1,
    finds_triton: Callable[[], bool] = has_triton,
) -> Compiling:
    """Decide by the device, the recipe and the length of the run."""
    if device.type != "cuda":
        return Compiling(False, f"kernels of our own do not pay on {device.type}")
    if not finds_triton():
        return Compiling(False, "Triton is not installed")
    if recipe.training.remat == "dots":
        return Compiling(False, "remat dots decides operation by operation what is kept")
    if recipe.quantization is not None:
        return Compiling(False, "quantised matrices have kernels of their own")
    if num_processes > 1:
        return Compiling(False, "layers are collected from several processes")
    if num_steps < _MIN_STEPS:
        return Compiling(False, f"{num_steps} steps are fewer than the {_MIN_STEPS} that it needs to pay")
    return Compiling(True, "it fuses what lies between matrix products")


def compile_layers(layers: Iterable[nn.Module], *, backend: str = "inductor") -> None:
    """Compile each layer in place, when it is first called; its parameters and their names stay."""
    for layer in layers:
        layer.compile(backend=backend, dynamic=False)
