"""The attention kernel of the torch engine, and the reason for it."""

import dataclasses

import pytest
from support.programs import tiny_architecture

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.kernels import Setting, resolve_torch_kernel

CAPPED = tiny_architecture()
PLAIN = dataclasses.replace(CAPPED, attention_softcap=None)
CPU = Setting(PLAIN, "cpu", 512, "bfloat16")
HOPPER = Setting(PLAIN, "gpu", 512, "bfloat16", (9, 0))


def test_auto_uses_varlen_on_gpu() -> None:
    assert resolve_torch_kernel("auto", HOPPER, has_flash=False).kernel == "varlen"
    assert resolve_torch_kernel("auto", CPU, has_flash=True).kernel == "sdpa"


def test_float32_rules_out_flash() -> None:
    choice = resolve_torch_kernel("auto", dataclasses.replace(HOPPER, compute="float32"), has_flash=True)

    assert choice.kernel == "sdpa"
    assert "it computes in bfloat16" in choice.reason


def test_soft_cap_needs_flash_or_dense() -> None:
    capped = dataclasses.replace(HOPPER, architecture=CAPPED)

    assert resolve_torch_kernel("auto", capped, has_flash=True).kernel == "flash"
    without_package = resolve_torch_kernel("auto", capped, has_flash=False)
    assert without_package.kernel == "dense"
    assert "flash-attn is not installed" in without_package.reason
    with pytest.raises(InvalidInputError, match="no soft cap"):
        resolve_torch_kernel("cudnn", capped)


def test_explicit_kernel_is_used_or_rejected() -> None:
    assert resolve_torch_kernel("dense", CPU).kernel == "dense"
    assert resolve_torch_kernel("cudnn", HOPPER).kernel == "cudnn"
    with pytest.raises(InvalidInputError, match="NVIDIA GPUs only"):
        resolve_torch_kernel("cudnn", CPU)
    with pytest.raises(InvalidInputError, match=r"TPU only.*--engine jax"):
        resolve_torch_kernel("splash", HOPPER)
    with pytest.raises(InvalidInputError, match="Ampere"):
        resolve_torch_kernel("cudnn", dataclasses.replace(HOPPER, compute_capability=(7, 5)))
