"""What the process needs of its GPU, CUDA graphs included.

Torch's allocator counts the memory that a graph computes in while the graph is recorded. Then that memory is
free in its books, although every replay writes to it, beside whatever is allocated at that time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


@dataclass
class _Needed:
    replayed_bytes: int = 0
    """What the last graph took while it was recorded, and gave back to the books."""
    before_bytes: int = 0
    """The peak up to the last recording."""


# As torch's own counters: of the process, which uses one GPU.
_needed = _Needed()


@contextmanager
def counted_as_replayed(device: torch.device) -> Iterator[None]:
    """Whatever is taken and given back inside is taken again by every replay, until the next recording."""
    before = peak_needed_bytes(device)
    torch.cuda.reset_peak_memory_stats(device)
    yield
    recording = torch.cuda.max_memory_allocated(device)
    _needed.before_bytes = max(before, recording)
    _needed.replayed_bytes = recording - torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)


def peak_needed_bytes(device: torch.device) -> int:
    """The most that was needed at one time so far."""
    return max(_needed.before_bytes, torch.cuda.max_memory_allocated(device) + _needed.replayed_bytes)
