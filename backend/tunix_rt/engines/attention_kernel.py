"""Which kernel computes attention, and why. No accelerator library is needed: the planner asks here too.

splash   TPU: fused, segments and windows, soft caps
cudnn    NVIDIA GPU: fused, bfloat16, no soft caps
dense    anywhere: plain products; the scores [B, N, T, T] exist in float32 for one layer at a time
"""

from dataclasses import dataclass
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.recipes.types import AttentionKernel, FloatFormat

Kernel = Literal["dense", "cudnn", "splash"]
Platform = Literal["cpu", "gpu", "tpu"]

# Splash works on tiles of 128 tokens. Heads of 64 and 256 values were compiled for v5e; odd ones were not.
_SPLASH_TOKENS, _SPLASH_HEAD = 128, 64


@dataclass(frozen=True)
class Setting:
    """Where attention runs and on what shapes."""

    architecture: Architecture
    platform: Platform
    row_length: int
    compute: FloatFormat
    compute_capability: tuple[int, int] | None = None
    """Of the NVIDIA GPU, e.g. (9, 0) for Hopper; None where there is none."""
    num_tensor_shards: int = 1
    """Devices that share the heads."""


@dataclass(frozen=True)
class Choice:
    """A resolved kernel with its reason, for the log and the evidence."""

    kernel: Kernel
    reason: str


def resolve_kernel(requested: AttentionKernel, setting: Setting) -> Choice:
    """The kernel that a recipe's `training.attention` means here.

    Raises:
        InvalidInputError: A kernel was asked for by name and cannot serve.
    """
    if requested == "dense":
        return Choice("dense", "the recipe asks for it")
    if requested != "auto":
        if obstacle := _obstacle(requested, setting):
            raise InvalidInputError(
                f"training.attention {requested} cannot be used: {obstacle}.",
                next_step="Set training.attention to auto, which takes the best kernel that can.",
            )
        return Choice(requested, "the recipe asks for it")
    return _automatic(setting)


def _automatic(setting: Setting) -> Choice:
    if setting.platform == "cpu":
        return Choice("dense", "no fused kernel runs on CPU")
    fused: Kernel = "splash" if setting.platform == "tpu" else "cudnn"
    if obstacle := _obstacle(fused, setting):
        return Choice("dense", f"{fused} cannot be used: {obstacle}")
    return Choice(fused, f"the fused kernel of this {setting.platform.upper()}")


def _obstacle(kernel: Kernel, setting: Setting) -> str | None:
    """Why the fused kernel cannot serve; None when it can."""
    return _splash_obstacle(setting) if kernel == "splash" else _cudnn_obstacle(setting)


def _splash_obstacle(setting: Setting) -> str | None:
    head_dim, num_kv_heads = setting.architecture.head_dim, setting.architecture.num_kv_heads
    if setting.platform != "tpu":
        return "it runs on TPU only"
    if setting.row_length % _SPLASH_TOKENS:
        return f"it needs rows of a multiple of {_SPLASH_TOKENS} tokens, and these have {setting.row_length}"
    if head_dim % _SPLASH_HEAD:
        return f"it needs heads of a multiple of {_SPLASH_HEAD} values, and these have {head_dim}"
    if num_kv_heads > 1 and num_kv_heads % setting.num_tensor_shards:
        return f"{num_kv_heads} key heads cannot be shared by {setting.num_tensor_shards} devices"
    return None


def _cudnn_obstacle(setting: Setting) -> str | None:
    if setting.platform != "gpu":
        return "it runs on NVIDIA GPUs only"
    if setting.compute != "bfloat16":
        return f"it computes in bfloat16, and the recipe in {setting.compute}"
    if setting.architecture.attention_softcap is not None:
        return "it has no soft cap on the scores, and this model needs one"
    if setting.row_length % 2:
        return f"it needs an even row length, and this is {setting.row_length}"
    return _cudnn_head_obstacle(setting.architecture.head_dim, setting.compute_capability or (0, 0))


def _cudnn_head_obstacle(head_dim: int, compute_capability: tuple[int, int]) -> str | None:
    if compute_capability < (8, 0):
        return "it needs a GPU of compute capability 8.0 (Ampere) or later"
    # 256 is the limit on the data-centre chips 9.x and 10.x; consumer chips of any generation stop at 128.
    largest = 256 if (9, 0) <= compute_capability < (12, 0) else 128
    if head_dim > largest or head_dim % 8:
        return f"it needs heads of a multiple of 8 up to {largest} values here, and these have {head_dim}"
    return None
