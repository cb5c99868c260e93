"""Recognition of out-of-memory errors of torch."""

import pytest
import torch

from tunix_rt.engines.torch.devices import is_out_of_memory


def test_allocator_errors_are_recognized() -> None:
    with pytest.raises(RuntimeError) as too_large:
        torch.empty(2**50)
    assert is_out_of_memory(too_large.value)
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))


def test_other_errors_are_not_recognized() -> None:
    with pytest.raises(RuntimeError) as shape_mismatch:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert not is_out_of_memory(shape_mismatch.value)
    assert not is_out_of_memory(ValueError("not enough memory"))
