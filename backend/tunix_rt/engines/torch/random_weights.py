"""Random weights that keep activations near 1: normal over the root of the fan-in, norms that do nothing."""

import math
import zlib

import numpy as np
import torch
from torch import Tensor

from tunix_rt.engines.architecture import Architecture


def random_generator(seed: int, name: str) -> np.random.Generator:
    """Noise of its own for every tensor: that of one does not depend on which others there are."""
    return np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(name.encode())]))


def random_tensor(name: str, shape: tuple[int, ...], architecture: Architecture, seed: int) -> Tensor:
    """The float32 weight that a seed gives to a tensor, on any machine; matrices are [out, in]."""
    if name.endswith("norm.weight"):
        return torch.full(shape, 0.0 if architecture.norms_add_one else 1.0)
    noise = random_generator(seed, name).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(noise).div_(math.sqrt(shape[-1]))
