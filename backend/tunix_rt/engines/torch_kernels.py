"""Which kernel computes attention in the torch engine, and why. No torch is needed: the planner asks too.

varlen   torch's own flash attention: NVIDIA GPU, bfloat16; knows segments and windows, and needs no mask
flash    flash-attn, a package: the same, and soft caps
cudnn    torch's attention by cuDNN alone: NVIDIA GPU, bfloat16, no soft caps
sdpa     torch's attention by the best kernel that takes a mask, on any device; no soft caps
dense    anywhere: plain products; the scores [B, N, T, T] exist in float32 for one layer at a time
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.attention_kernel import Setting
from tunix_rt.recipes.types import AttentionKernel

TorchKernel = Literal["dense", "sdpa", "cudnn", "varlen", "flash"]

TAKING_BORDERS: frozenset[TorchKernel] = frozenset({"varlen", "flash"})
"""Kernels that take the borders of the segments and no mask."""

_AMPERE = (8, 0)
_LARGEST_HEAD = 256


@dataclass(frozen=True)
class TorchChoice:
    """A resolved kernel with its reason, for the log and the evidence."""

    kernel: TorchKernel
    reason: str


def has_flash_attention() -> bool:
    """Whether flash-attn is installed."""
    return find_spec("flash_attn") is not None


def resolve_torch_kernel(
    requested: AttentionKernel, setting: Setting, *, has_flash: bool | None = None
) -> TorchChoice:
    """The kernel that a recipe's `training.attention` means here.

    Raises:
        InvalidInputError: A kernel was asked for by name and cannot serve.
    """
    if requested == "auto":
        return _automatic(setting, has_flash_attention() if has_flash is None else has_flash)
    if requested == "dense":
        return TorchChoice("dense", "the recipe asks for it")
    obstacle = "it runs on TPU only" if requested == "splash" else _cudnn_obstacle(setting)
    if obstacle is not None:
        raise InvalidInputError(
            f"training.attention {requested} cannot be used: {obstacle}.",
            next_step="Set training.attention to auto, which takes the best kernel that can"
            + (", or use --engine jax." if requested == "splash" else "."),
        )
    return TorchChoice("cudnn", "the recipe asks for it")


def _automatic(setting: Setting, has_flash: bool) -> TorchChoice:
    is_capped = setting.architecture.attention_softcap is not None
    obstacle = "flash-attn is not installed" if is_capped and not has_flash else _fused_obstacle(setting)
    if setting.platform == "gpu" and obstacle is None:
        if is_capped:
            return TorchChoice("flash", "the kernel for packed rows that has the soft cap of this model")
        return TorchChoice("varlen", "the kernel of torch that computes the examples of a packed row alone")
    without_flash = f"; flash attention cannot be used: {obstacle}" if setting.platform == "gpu" else ""
    if is_capped:
        return TorchChoice("dense", f"only it has the soft cap that this model needs{without_flash}")
    return TorchChoice("sdpa", f"the best kernel of torch that takes a mask{without_flash}")


def _cudnn_obstacle(setting: Setting) -> str | None:
    if setting.platform != "gpu":
        return "it runs on NVIDIA GPUs only"
    if setting.architecture.attention_softcap is not None:
        return "it has no soft cap on the scores, and this model needs one"
    return _fused_obstacle(setting)


def _fused_obstacle(setting: Setting) -> str | None:
    """What flash attention and cuDNN have in common."""
    head_dim = setting.architecture.head_dim
    if setting.compute != "bfloat16":
        return f"it computes in bfloat16, and the recipe in {setting.compute}"
    if (setting.compute_capability or (0, 0)) < _AMPERE:
        return "it needs a GPU of compute capability 8.0 (Ampere) or later"
    if head_dim > _LARGEST_HEAD or head_dim % 8:
        return f"it needs heads of a multiple of 8 up to {_LARGEST_HEAD} values, and these have {head_dim}"
    return None
