"""The attention kernel of the JAX engine, and the reason for it."""

from dataclasses import replace

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.kernels import KernelChoice, Setting, resolve_kernel
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config

HOPPER, ADA, TURING, CONSUMER_BLACKWELL = (9, 0), (8, 9), (7, 5), (12, 0)


def _architecture(head_dim: int, num_kv_heads: int = 1, softcap: float | None = None) -> Architecture:
    config = {
        "model_type": "gemma2",
        "vocab_size": 64,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": num_kv_heads,
        "head_dim": head_dim,
        "attn_logit_softcapping": softcap,
    }
    return architecture_from_config(config)


GPU = Setting(_architecture(256), "gpu", 512, "bfloat16", compute_capability=HOPPER)
TPU = Setting(_architecture(256, softcap=50.0), "tpu", 512, "bfloat16")


def test_auto_uses_fused_kernel_of_device() -> None:
    assert resolve_kernel("auto", GPU).kernel == "cudnn"
    assert resolve_kernel("auto", TPU).kernel == "splash"
    assert resolve_kernel("auto", replace(GPU, platform="cpu")) == KernelChoice(
        "dense", "no fused kernel runs on CPU"
    )


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (replace(GPU, architecture=_architecture(256, softcap=50.0)), "soft cap"),
        (replace(GPU, compute="float32"), "float32"),
        (replace(GPU, row_length=511), "even row length"),
        (replace(GPU, compute_capability=ADA), "up to 128 values here, and these have 256"),
        (replace(GPU, compute_capability=CONSUMER_BLACKWELL), "up to 128 values"),
        (replace(GPU, compute_capability=TURING), "Ampere"),
        (replace(GPU, compute_capability=None), "Ampere"),
        (replace(TPU, row_length=192), "these have 192"),
        (replace(TPU, architecture=_architecture(80)), "these have 80"),
        (replace(TPU, architecture=_architecture(256, 4), num_tensor_shards=8), "4 key heads .* 8 devices"),
    ],
)
def test_unsupported_setting_falls_back_to_dense(setting: Setting, reason: str) -> None:
    """An explicit request for the fused kernel fails for the same reason."""
    choice = resolve_kernel("auto", setting)
    assert choice.kernel == "dense"
    with pytest.raises(InvalidInputError, match=reason) as error:
        resolve_kernel("cudnn" if setting.platform == "gpu" else "splash", setting)
    assert choice.reason in error.value.detail.replace("training.attention ", "")


def test_single_key_head_allows_tensor_sharding() -> None:
    assert resolve_kernel("auto", replace(TPU, num_tensor_shards=8)).kernel == "splash"


@pytest.mark.parametrize(("kernel", "setting"), [("cudnn", TPU), ("splash", GPU)])
def test_kernel_of_other_device_is_rejected(kernel: str, setting: Setting) -> None:
    with pytest.raises(InvalidInputError, match=f"{kernel} cannot be used: it runs on"):
        resolve_kernel(kernel, setting)  # type: ignore[arg-type]


def test_explicit_kernel_is_used() -> None:
    assert resolve_kernel("dense", GPU) == KernelChoice("dense", "the recipe asks for it")
    assert resolve_kernel("cudnn", GPU) == KernelChoice("cudnn", "the recipe asks for it")
