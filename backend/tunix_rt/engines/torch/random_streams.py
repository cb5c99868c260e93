"""Random numbers that follow from seed and step alone: a resumed run draws what an unbroken one draws."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream_seed(seed: int, *names: int | str) -> int:
    """A seed for one purpose at one place: the same names give the same seed, on any machine.

    Example:
        stream_seed(0, "dropout", 7) != stream_seed(0, "dropout", 8)
    """
    text = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def generator(device: torch.device, seed: int, *names: int | str) -> torch.Generator:
    """A source of random numbers of its own for one purpose at one place."""
    return torch.Generator(device).manual_seed(stream_seed(seed, *names))


@contextmanager
def seeded(device: torch.device, seed: int, *names: int | str) -> Iterator[None]:
    """Inside, layers that draw from torch's own generators draw from this stream; outside nothing changes."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(stream_seed(seed, *names))
        yield
