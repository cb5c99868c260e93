"""Weights from safetensors or a seed."""

import math
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.engines.weights.safetensors import (
    FORMATS,
    LazyTensor,
    check_tensors,
    expected_shapes,
    open_tensors,
    text_tensors,
)
from tunix_rt.engines.weights.sources import ModelSource


def random_generator(seed: int, name: str) -> np.random.Generator:
    """A random generator per tensor, independent of the other tensors."""
    return np.random.Generator(np.random.Philox(key=[seed, zlib.crc32(name.encode())]))


def random_tensor(name: str, shape: tuple[int, ...], architecture: Architecture, seed: int) -> Tensor:
    """The random float32 weight of a tensor, the same on any machine; matrices are [out, in]."""
    if name.endswith("norm.weight"):
        return torch.full(shape, 0.0 if architecture.norms_add_one else 1.0)
    noise = random_generator(seed, name).standard_normal(shape, dtype=np.float32)
    return torch.from_numpy(noise).div_(math.sqrt(shape[-1]))


def lazy_tensor(name: str, tensor: Tensor) -> LazyTensor:
    """A tensor that is copied to the host when it is written."""
    file_format = FORMATS[str(tensor.dtype).removeprefix("torch.")]
    return LazyTensor(name, tuple(tensor.shape), file_format, partial(bytes_of, tensor))


def bytes_of(tensor: Tensor) -> NDArray[Any]:
    """The bytes of a tensor in element order; bytes, because numpy has no bfloat16."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    array: NDArray[Any] = flat.view(torch.uint8).numpy()
    return array


def stored_tensors(source: ModelSource, seed: int, *, is_random: bool) -> Iterator[tuple[str, Tensor]]:
    """Every weight of a model by its published name, matrices [out, in], tied weights once.

    Weights are read from the model's directory in the format of its files, or initialised from the seed in
    float32.

    Raises:
        DataError: A file is damaged, or its tensors do not match the architecture.
    """
    architecture = source.architecture
    if is_random or source.directory is None:
        for name, shape in expected_shapes(architecture):
            yield name, random_tensor(name, shape, architecture, seed)
        return
    with open_tensors(source.directory, "pt") as stored:
        tensors = text_tensors(stored)
        check_tensors(tensors, architecture, source.directory)
        for name, _ in expected_shapes(architecture):
            yield name, tensors[name].read()


@torch.no_grad()
def fill(module: nn.Module, tensors: Iterable[tuple[str, Tensor]], stored: torch.dtype) -> None:
    """Copy tensors to the parameters of the same names, rounded to the storage format."""
    for name, tensor in tensors:
        parameter = module.get_parameter(name)
        parameter.copy_(tensor.to(parameter.device).to(stored))
