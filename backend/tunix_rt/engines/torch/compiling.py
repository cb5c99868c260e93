"""torch.compile for the layers: engines/torch_compiling.py says when."""

from collections.abc import Callable, Iterable

import torch
import torch._functorch.config
from torch import nn
from torch.utils._triton import has_triton

from tunix_rt.core.targets import Platform
from tunix_rt.engines.torch_compiling import Compiling, kept_share, resolve_compiling
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
    torch._functorch.config.activation_memory_budget = kept_share(recipe)
    for layer in layers:
        layer.compile(backend=backend, dynamic=False)
