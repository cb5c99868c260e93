"""When Liger kernels are used; test_gpu_kernels.py checks their results on a GPU."""

import pytest
import torch

from tunix_rt.engines.planning.kernels import Compiling
from tunix_rt.engines.torch.model.compiled import choose_liger

COMPILED, PLAIN = Compiling(True, "it fuses"), Compiling(False, "a short run")


@pytest.mark.parametrize(
    ("compiling", "device", "has_adapters", "is_installed", "reason"),
    [
        (PLAIN, "cuda", False, True, "one kernel each"),
        (PLAIN, "cuda", False, False, "liger-kernel is not installed"),
        (PLAIN, "cuda", True, True, "waits for the host"),
        (PLAIN, "cpu", False, True, "GPUs only"),
        (COMPILED, "cuda", False, True, "kernels of their own"),
    ],
)
def test_liger_choice_and_reason(
    compiling: Compiling, device: str, has_adapters: bool, is_installed: bool, reason: str
) -> None:
    choice = choose_liger(
        compiling, torch.device(device), has_adapters=has_adapters, finds_liger=lambda: is_installed
    )
    assert choice.is_on == (reason == "one kernel each")
    assert reason in str(choice)
