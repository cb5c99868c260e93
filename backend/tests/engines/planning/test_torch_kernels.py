"""Which attention kernel the torch engine takes, and why."""

import dataclasses

import pytest
from support.programs import tiny_architecture

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.kernels import Setting, resolve_torch_kernel

CAPPED = tiny_architecture()
PLAIN = dataclasses.replace(CAPPED, attention_softcap=None)
CPU = Setting(PLAIN, "cpu", 512, "bfloat16")
HOPPER = Setting(PLAIN, "gpu", 512, "bfloat16", (9, 0))


def test_a_gpu_computes_the_examples_of_a_packed_row_alone() -> None:
    assert resolve_torch_kernel("auto", HOPPER, has_flash=False).kernel == "varlen"
    assert resolve_torch_kernel("auto", CPU, has_flash=True).kernel == "sdpa"


def test_float32_keeps_flash_attention_away_and_the_reason_says_so() -> None:
    choice = resolve_torch_kernel("auto", dataclasses.replace(HOPPER, compute="float32"), has_flash=True)

    assert choice.kernel == "sdpa"
    assert "it computes in bfloat16" in choice.reason


def test_a_soft_cap_needs_the_package_or_dense_attention() -> None:
    capped = dataclasses.replace(HOPPER, architecture=CAPPED)

    assert resolve_torch_kernel("auto", capped, has_flash=True).kernel == "flash"
    without_package = resolve_torch_kernel("auto", capped, has_flash=False)
    assert without_package.kernel == "dense"
    assert "flash-attn is not installed" in without_package.reason
    with pytest.raises(InvalidInputError, match="no soft cap"):
        resolve_torch_kernel("cudnn", capped)


def test_a_kernel_asked_for_by_name_is_taken_or_refused() -> None:
    assert resolve_torch_kernel("dense", CPU).kernel == "dense"
    assert resolve_torch_kernel("cudnn", HOPPER).kernel == "cudnn"
    with pytest.raises(InvalidInputError, match="NVIDIA GPUs only"):
        resolve_torch_kernel("cudnn", CPU)
    with pytest.raises(InvalidInputError, match=r"TPU only.*--engine jax"):
        resolve_torch_kernel("splash", HOPPER)
    with pytest.raises(InvalidInputError, match="Ampere"):
        resolve_torch_kernel("cudnn", dataclasses.replace(HOPPER, compute_capability=(7, 5)))
