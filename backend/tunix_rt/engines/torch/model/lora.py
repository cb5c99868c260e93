"""LoRA through PEFT; merging.

Parameters of an adapted matrix:

    model.layers.<i>.self_attn.q_proj.base_layer.weight         frozen [out, in]
    model.layers.<i>.self_attn.q_proj.lora_A.default.weight     float32 [rank, in], random from the seed
    model.layers.<i>.self_attn.q_proj.lora_B.default.weight     float32 [out, rank], zero at the start
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn

from tunix_rt.base.errors import DataError
from tunix_rt.engines.torch.model.decoder import DTYPES, Decoder
from tunix_rt.engines.torch.model.quantization import plain_weight
from tunix_rt.engines.torch.weights import random_generator, stored_tensors
from tunix_rt.engines.weights.adapters import open_adapter
from tunix_rt.engines.weights.architecture import MATRIX_MODULES
from tunix_rt.recipes.types import LoraSection

_NAME = "default"
"""PEFT's name for the only adapter of a model."""
_FILE_PREFIX = "base_model.model."
"""Prefix of parameter names in PEFT's files."""


def add_adapters(decoder: Decoder, lora: LoraSection, seed: int) -> None:
    """Add initial adapters, which change nothing, and freeze everything else.

    A is uniform within ± 1 / sqrt(in), as in the JAX engine, but with other random numbers.
    """
    _inject(decoder, lora)
    with torch.no_grad():
        for name, parameter in _adapter_parameters(decoder).items():
            values = torch.zeros(parameter.shape)
            if ".lora_A." in name:
                bound = 1 / math.sqrt(parameter.shape[1])
                noise = random_generator(seed, name).uniform(-bound, bound, tuple(parameter.shape))
                values = torch.from_numpy(noise.astype(np.float32))
            parameter.data = values.to(parameter.device)


def load_adapters(decoder: Decoder, directory: Path) -> None:
    """Load adapters that PEFT or either engine wrote.

    A decoder without adapters gets those of the directory in the compute format, for generation.

    Raises:
        DataError: A file is missing or damaged, does not fit the model or its adapters, or has a type of
            adapter that this engine does not support.
    """
    with open_adapter(directory, decoder.architecture, "pt") as (lora, tensors):
        if not _adapter_parameters(decoder):
            _inject(decoder, lora)
            for parameter in _adapter_parameters(decoder).values():
                parameter.data = parameter.data.to(decoder.compute_dtype)
        parameters = _adapter_parameters(decoder)
        shapes = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
        if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
            raise DataError(
                f"The adapter in {directory} has other matrices than the recipe's lora section describes.",
                next_step="Set lora.rank and lora.targets to those of its adapter_config.json.",
            )
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[name].read())


def adapter_tensors(decoder: Decoder) -> dict[str, Tensor]:
    """The adapters by their names in PEFT's files."""
    return {name: parameter.detach() for name, parameter in _adapter_parameters(decoder).items()}


def merged_weights(
    decoder: Decoder, gather: Callable[[Tensor], Tensor] = lambda tensor: tensor
) -> Iterator[tuple[str, Tensor]]:
    """The whole model with its adapters merged: summed in float32, rounded once to the stored format.

    Weights are read again one at a time, because the model may hold them rounded. For quantised weights, the
    dequantised values of training are used.

    Args:
        decoder: After training, with the adapters in float32.
        gather: Gathers a tensor that is sharded over processes.
    """
    options = decoder.options
    matrices = {
        f"{name}.weight": module
        for name, module in decoder.module.named_modules()
        if isinstance(module, LoraLayer | nn.Linear)
    }
    for name, tensor in stored_tensors(decoder.source, options.seed, is_random=options.is_random):
        stored = tensor.to(DTYPES[options.weights])
        matrix = matrices.get(name)
        yield name, stored if matrix is None else _merge(matrix, stored, gather)


def _inject(decoder: Decoder, lora: LoraSection) -> None:
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,  # type: ignore[arg-type]  # any number will do
        lora_dropout=lora.dropout,
        target_modules=[MATRIX_MODULES[target].rpartition(".")[2] for target in lora.targets],
        bias="none",
    )
    inject_adapter_in_model(config, decoder.module, adapter_name=_NAME)
    decoder.module.eval()


def _adapter_parameters(decoder: Decoder) -> dict[str, torch.nn.Parameter]:
    """Adapter parameters by their names in PEFT's files, which omit the name of the adapter."""
    return {
        _FILE_PREFIX + name.replace(f".{_NAME}.", "."): parameter
        for name, parameter in decoder.module.named_parameters()
        if ".lora_" in name
    }


def _merge(matrix: Any, stored: Tensor, gather: Callable[[Tensor], Tensor]) -> Tensor:
    """A matrix, quantised or not, with its adapter merged, if it has one."""
    is_adapted = isinstance(matrix, LoraLayer)
    quantised = plain_weight(matrix.get_base_layer() if is_adapted else matrix)
    base = stored.float() if quantised is None else quantised.float().cpu()
    if is_adapted:
        a, b = (gather(part[_NAME].weight.detach()).float().cpu() for part in (matrix.lora_A, matrix.lora_B))
        base = base + matrix.scaling[_NAME] * (b @ a)
    return base.to(stored.dtype)
