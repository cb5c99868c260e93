"""Whether torch.compile makes kernels for the layers, and why. No torch is needed: the planner asks too.

It fuses what lies between the matrix products (norms, rotations, gates, casts), each of which is otherwise a
pass through the memory of the GPU. Every layer is compiled by itself, so one compilation serves all of them.
"""

from dataclasses import dataclass

from tunix_rt.engines.attention_kernel import Platform
from tunix_rt.recipes.types import Recipe

_MIN_STEPS = 100
"""On an H200 with Gemma 2B, compiling takes 10 to 25 s and saves 0.1 s a step."""


FULL_DOTS, ADAPTER_DOTS = 0.5, 0.7
"""What `remat: dots` keeps of what `remat: none` keeps. Seen on an H200 with Gemma 2B: full training 547
samples/s in 52 GiB with 0.5, 590 in 63 with 0.7; LoRA, 2,304 tokens at a time, 655 with 0.7, 617 with 0.6."""


@dataclass(frozen=True)
class Compiling:
    """Whether the layers are compiled."""

    is_on: bool
    reason: str

    def __str__(self) -> str:
        return f"layers are {'' if self.is_on else 'not '}compiled: {self.reason}"


def kept_share(recipe: Recipe) -> float:
    """Of the activations of a layer that the compiler would keep for speed alone, how many it may keep.

    Frozen matrices need no inputs kept, so adapters can afford more under the same name. `block` keeps none
    of them: whole layers are computed again, by engines/torch/remat.py.
    """
    if recipe.training.remat != "dots":
        return 1.0
    return FULL_DOTS if recipe.lora is None else ADAPTER_DOTS


def resolve_compiling(
    recipe: Recipe, platform: Platform, *, num_steps: int | None, num_processes: int = 1
) -> Compiling:
    """Decide by the device, the recipe and the length of the run. None steps: not known yet, many."""
    if platform != "gpu":
        return Compiling(False, f"kernels of our own do not pay on a {platform}")
    if recipe.quantization is not None:
        return Compiling(False, "quantised matrices have kernels of their own")
    if num_processes > 1:
        return Compiling(False, "layers are collected from several processes")
    if num_steps is not None and num_steps < _MIN_STEPS:
        return Compiling(False, f"{num_steps} steps are fewer than the {_MIN_STEPS} that it needs to pay")
    return Compiling(True, "it fuses what lies between matrix products")
