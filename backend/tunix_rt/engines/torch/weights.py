"""Weights into a transformers model: from safetensors or from a seed, one tensor at a time."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from tunix_rt.engines.models import ModelSource
from tunix_rt.engines.safetensors_reader import open_tensors
from tunix_rt.engines.stored_weights import check_tensors, expected_shapes, text_tensors
from tunix_rt.engines.torch.random_weights import random_tensor


def stored_tensors(source: ModelSource, seed: int, *, is_random: bool) -> Iterator[tuple[str, Tensor]]:
    """Every weight of a model with its published name, matrices [out, in], tied ones once.

    They come from the model's directory in the format of its files, or from the seed in float32.

    Raises:
        DataError: A file is damaged, or its tensors are not those of the architecture.
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
    """Put tensors into the parameters of their names, rounded to the format that they are stored in."""
    for name, tensor in tensors:
        parameter = module.get_parameter(name)
        parameter.copy_(tensor.to(parameter.device).to(stored))
