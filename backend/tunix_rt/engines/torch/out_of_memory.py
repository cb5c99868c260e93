"""Recognise a device that has no memory left, among the errors of torch."""

import torch

# Of the allocator for the CPU, which raises a plain RuntimeError.
_CPU_SIGNS = ("DefaultCPUAllocator", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch says that a tensor does not fit on the device."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _CPU_SIGNS)
