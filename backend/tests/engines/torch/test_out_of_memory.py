"""Which torch errors mean that a device is out of memory."""

import pytest
import torch

from tunix_rt.engines.torch.devices import is_out_of_memory


def test_the_allocators_of_cpu_and_gpu_are_recognised() -> None:
    with pytest.raises(RuntimeError) as too_large:
        torch.empty(2**50)
    assert is_out_of_memory(too_large.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))


def test_any_other_error_is_not_about_memory() -> None:
    with pytest.raises(RuntimeError) as misfit:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not is_out_of_memory(misfit.value)
    assert not is_out_of_memory(ValueError("not enough memory"))
