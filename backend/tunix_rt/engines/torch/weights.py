"""Weights into a transformers model: from safetensors or from a seed, one tensor at a time."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.safetensors_reader import open_tensors
from tunix_rt.engines.stored_weights import check_tensors, expected_shapes, text_tensors
from tunix_rt.engines.torch.random_weights import random_tensor


def load_weights(module: nn.Module, directory: Path, architecture: Architecture) -> None:
    """Fill the parameters with the tensors of a model directory, each in the parameter's format.

    Raises:
        DataError: A file is damaged, or its tensors are not those of the architecture.
    """
    with open_tensors(directory, "pt") as stored:
        tensors = text_tensors(stored)
        check_tensors(tensors, architecture, directory)
        _fill(module, ((name, tensors[name].read()) for name, _ in expected_shapes(architecture)))


def draw_weights(module: nn.Module, architecture: Architecture, seed: int) -> None:
    """Fill the parameters with the noise of a seed."""
    names = expected_shapes(architecture)
    _fill(module, ((name, random_tensor(name, shape, architecture, seed)) for name, shape in names))


@torch.no_grad()
def _fill(module: nn.Module, tensors: Iterator[tuple[str, Tensor]]) -> None:
    for name, tensor in tensors:
        module.get_parameter(name).copy_(tensor)
