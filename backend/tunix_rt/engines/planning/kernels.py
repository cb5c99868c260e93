"""The attention kernel and the compile mode of a recipe, with reasons.

Kernels of the JAX engine:

splash   TPU: fused, segments and windows, soft caps
cudnn    NVIDIA GPU: fused, bfloat16, no soft caps
dense    anywhere: plain products; the scores [B, N, T, T] exist in float32 for one layer at a time

Kernels of the torch engine:

varlen   torch's own flash attention: NVIDIA GPU, bfloat16; knows segments and windows, and needs no mask
flash    flash-attn, a package: the same, and soft caps
cudnn    torch's attention by cuDNN alone: NVIDIA GPU, bfloat16, no soft caps
sdpa     torch's attention by the best kernel that takes a mask, on any device; no soft caps
dense    anywhere: plain products; the scores [B, N, T, T] exist in float32 for one layer at a time

The torch engine compiles its layers to fuse the operations between matrix products (norms, rotations, gates,
casts), each of which is otherwise a pass through GPU memory. Layers are compiled separately, so one
compilation serves all of them.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.limits import BFLOAT16_CAPABILITY
from tunix_rt.engines.types import Platform
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import AttentionKernel, FloatFormat, Recipe

Kernel = Literal["dense", "cudnn", "splash"]

# Splash works on tiles of 128 tokens. Heads of 64 and 256 values were compiled for v5e; odd ones were not.
_SPLASH_TOKENS, _SPLASH_HEAD = 128, 64


@dataclass(frozen=True)
class Setting:
    """The device and the shapes of attention."""

    architecture: Architecture
    platform: Platform
    row_length: int
    compute: FloatFormat
    compute_capability: tuple[int, int] | None = None
    """Of the NVIDIA GPU, e.g. (9, 0) for Hopper; None where there is none."""
    num_tensor_shards: int = 1
    """Devices that the heads are split over."""


@dataclass(frozen=True)
class KernelChoice:
    """A kernel and why it was chosen, for the log and the evidence."""

    kernel: Kernel
    reason: str


def resolve_kernel(requested: AttentionKernel, setting: Setting) -> KernelChoice:
    """Resolve `training.attention` of a recipe.

    Raises:
        InvalidInputError: A kernel was requested by name and cannot be used.
    """
    if requested == "dense":
        return KernelChoice("dense", "the recipe asks for it")
    if requested != "auto":
        if obstacle := _obstacle(requested, setting):
            raise InvalidInputError(
                f"training.attention {requested} cannot be used: {obstacle}.",
                next_step="Set training.attention to auto, which uses the best available kernel.",
            )
        return KernelChoice(requested, "the recipe asks for it")
    if setting.platform == "cpu":
        return KernelChoice("dense", "no fused kernel runs on CPU")
    fused: Kernel = "splash" if setting.platform == "tpu" else "cudnn"
    if obstacle := _obstacle(fused, setting):
        return KernelChoice("dense", f"{fused} cannot be used: {obstacle}")
    return KernelChoice(fused, f"the fused kernel of this {setting.platform.upper()}")


def _obstacle(kernel: Kernel, setting: Setting) -> str | None:
    """Why the fused kernel cannot be used; None when it can."""
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
    head_dim, compute_capability = setting.architecture.head_dim, setting.compute_capability or (0, 0)
    if compute_capability < BFLOAT16_CAPABILITY:
        return "it needs a GPU of compute capability 8.0 (Ampere) or later"
    # 256 is the limit on the data-centre chips 9.x and 10.x; consumer chips of any generation stop at 128.
    largest = 256 if (9, 0) <= compute_capability < (12, 0) else 128
    if head_dim > largest or head_dim % 8:
        return f"it needs heads of a multiple of 8 up to {largest} values here, and these have {head_dim}"
    return None


_MIN_STEPS = 100
"""On an H200 with Gemma 2B, compiling takes 10 to 25 s and saves 0.1 s a step."""

FULL_DOTS, ADAPTER_DOTS = 0.5, 0.7
"""The share of the activations of `remat: none` that `remat: dots` saves. Measured on an H200 with Gemma 2B:
full training 547 samples/s in 52 GiB with 0.5, 590 in 63 with 0.7; LoRA, 2,304 tokens at a time, 655 with
0.7, 617 with 0.6."""


@dataclass(frozen=True)
class Compiling:
    """Whether the layers are compiled, and why."""

    is_on: bool
    reason: str

    def __str__(self) -> str:
        return f"layers are {'' if self.is_on else 'not '}compiled: {self.reason}"


def saved_share(recipe: Recipe) -> float:
    """The share of the optional activations of a layer that the compiler may save for speed.

    Frozen matrices need no saved inputs, so adapters can afford a larger share. `block` saves none of them:
    whole layers are recomputed, by engines/torch/model/compiled.py.
    """
    if recipe.training.remat != "dots":
        return 1.0
    return FULL_DOTS if recipe.lora is None else ADAPTER_DOTS


def resolve_compiling(
    recipe: Recipe, platform: Platform, *, num_steps: int | None, num_processes: int = 1
) -> Compiling:
    """Decide by device, recipe and number of steps; None means unknown, and counts as many."""
    if platform != "gpu":
        return Compiling(False, f"kernels of our own do not pay on a {platform}")
    if recipe.quantization is not None:
        return Compiling(False, "quantised matrices have kernels of their own")
    if num_processes > 1:
        return Compiling(False, "layers are collected from several processes")
    if num_steps is not None and num_steps < _MIN_STEPS:
        return Compiling(False, f"{num_steps} steps are fewer than the {_MIN_STEPS} that it needs to pay")
    return Compiling(True, "it fuses what lies between matrix products")


TorchKernel = Literal["dense", "sdpa", "cudnn", "varlen", "flash"]

TAKING_BORDERS: frozenset[TorchKernel] = frozenset({"varlen", "flash"})
"""Kernels that take segment boundaries instead of a mask."""

_LARGEST_HEAD = 256


@dataclass(frozen=True)
class TorchKernelChoice:
    """A resolved kernel with its reason, for the log and the evidence."""

    kernel: TorchKernel
    reason: str


def resolve_torch_kernel(
    requested: AttentionKernel, setting: Setting, *, has_flash: bool | None = None
) -> TorchKernelChoice:
    """Resolve `training.attention` of a recipe for the torch engine.

    Raises:
        InvalidInputError: A kernel was requested by name and cannot be used.
    """
    if requested == "auto":
        has_flash = find_spec("flash_attn") is not None if has_flash is None else has_flash
        return _automatic_torch_kernel(setting, has_flash)
    if requested == "dense":
        return TorchKernelChoice("dense", "the recipe asks for it")
    if requested == "splash":
        obstacle: str | None = "it runs on TPU only"
    elif setting.platform != "gpu":
        obstacle = "it runs on NVIDIA GPUs only"
    elif setting.architecture.attention_softcap is not None:
        obstacle = "it has no soft cap on the scores, and this model needs one"
    else:
        obstacle = _fused_obstacle(setting)
    if obstacle is not None:
        raise InvalidInputError(
            f"training.attention {requested} cannot be used: {obstacle}.",
            next_step="Set training.attention to auto, which uses the best available kernel"
            + (", or use --engine jax." if requested == "splash" else "."),
        )
    return TorchKernelChoice("cudnn", "the recipe asks for it")


def _automatic_torch_kernel(setting: Setting, has_flash: bool) -> TorchKernelChoice:
    is_capped = setting.architecture.attention_softcap is not None
    obstacle = "flash-attn is not installed" if is_capped and not has_flash else _fused_obstacle(setting)
    if setting.platform == "gpu" and obstacle is None:
        if is_capped:
            return TorchKernelChoice(
                "flash", "the kernel for packed rows that has the soft cap of this model"
            )
        return TorchKernelChoice(
            "varlen", "the kernel of torch that computes the examples of a packed row alone"
        )
    without_flash = f"; flash attention cannot be used: {obstacle}" if setting.platform == "gpu" else ""
    if is_capped:
        return TorchKernelChoice("dense", f"only it has the soft cap that this model needs{without_flash}")
    return TorchKernelChoice("sdpa", f"the best kernel of torch that takes a mask{without_flash}")


def _fused_obstacle(setting: Setting) -> str | None:
    """The common requirements of flash attention and cuDNN."""
    head_dim = setting.architecture.head_dim
    if setting.compute != "bfloat16":
        return f"it computes in bfloat16, and the recipe in {setting.compute}"
    if (setting.compute_capability or (0, 0)) < BFLOAT16_CAPABILITY:
        return "it needs a GPU of compute capability 8.0 (Ampere) or later"
    if head_dim > _LARGEST_HEAD or head_dim % 8:
        return f"it needs heads of a multiple of 8 up to {_LARGEST_HEAD} values, and these have {head_dim}"
    return None
