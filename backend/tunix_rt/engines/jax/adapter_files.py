"""LoRA adapters as PEFT stores them: `adapter_config.json` and `adapter_model.safetensors`.

ours                   there
layers / q / a [in, r]    base_model.model.model.layers.<i>.self_attn.q_proj.lora_A.weight [r, in]
layers / q / b [r, out]   base_model.model.model.layers.<i>.self_attn.q_proj.lora_B.weight [out, r]
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tunix_rt.config.recipe import LoraSection, LoraTarget
from tunix_rt.core.errors import DataError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.linear import Adapter
from tunix_rt.engines.jax.lora import Adapters
from tunix_rt.engines.safetensors_reader import StoredTensor, damaged_file, open_tensor_file
from tunix_rt.engines.jax.weights_saving import fetch_layer
from tunix_rt.engines.safetensors_writer import FORMATS, LazyTensor, write_tensor_file
from tunix_rt.engines.tensor_names import MATRIX_MODULES
from tunix_rt.files.atomic import write_json_atomically

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"
_PARTS = {"a": "lora_A", "b": "lora_B"}
# Adapters that compute something else than W + (alpha / rank) A B, and whose tensors do not show it.
_OTHER_KINDS = ("use_dora", "use_rslora", "use_qalora", "use_bdlora", "alpha_pattern", "layer_replication")


def save_adapters(
    directory: Path, adapters: Adapters, lora: LoraSection, *, base_model: str, revision: str | None = None
) -> None:
    """Write adapters for `peft.PeftModel.from_pretrained(base, directory)`.

    Args:
        directory: exists already.
        adapters: the trained matrices.
        lora: the recipe's section: rank, alpha, dropout.
        base_model: hub id or directory of the weights that the adapters belong to.
        revision: the base's commit on the hub.
    """
    tensors = list(_lazy_tensors(adapters))
    if jax.process_index() != 0:
        for tensor in tensors:
            tensor.fetch()
        return
    write_tensor_file(directory / WEIGHTS_FILE, tensors)
    config = _adapter_config(lora, sorted(adapters["layers"]), base_model, revision)
    write_json_atomically(directory / CONFIG_FILE, config, what="writing the adapter")


def load_adapters(directory: Path, architecture: Architecture) -> tuple[Adapters, LoraSection]:
    """Read adapters that PEFT or `save_adapters` wrote.

    Raises:
        DataError: A file is missing or damaged, does not fit the architecture, or is of a kind that this
            engine does not compute.
    """
    config = _read_config(directory / CONFIG_FILE)
    with open_tensor_file(directory / WEIGHTS_FILE) as tensors:
        targets = tuple(name for name in get_args(LoraTarget) if _tensor_name(0, name, "a") in tensors)
        lora = _lora_section(directory / CONFIG_FILE, config, targets)
        _check_tensors(directory, tensors, architecture, lora)
        layers: dict[str, Adapter] = {
            target: {
                "a": _stack(tensors, target, "a", architecture.num_layers),
                "b": _stack(tensors, target, "b", architecture.num_layers),
            }
            for target in targets
        }
    return {"layers": layers}, lora


def _lazy_tensors(adapters: Adapters) -> Iterator[LazyTensor]:
    float32 = np.dtype("float32")
    for target, adapter in adapters["layers"].items():
        for part, stack in (("a", adapter["a"]), ("b", adapter["b"])):
            num_layers, *shape = stack.shape
            get = partial(fetch_layer, stack, dtype=float32, is_transposed=True)
            for layer in range(num_layers):
                name = _tensor_name(layer, target, part)
                yield LazyTensor(name, tuple(shape[::-1]), FORMATS[float32.name], partial(get, layer))


def _tensor_name(layer: int, target: str, part: str) -> str:
    module = MATRIX_MODULES[target]
    return f"base_model.model.model.layers.{layer}.{module}.{_PARTS[part]}.weight"


def _adapter_config(
    lora: LoraSection, targets: list[str], base_model: str, revision: str | None
) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_model,
        "revision": revision,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "target_modules": [MATRIX_MODULES[target].rpartition(".")[2] for target in targets],
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(
            f"{path.parent} has no {CONFIG_FILE}.", next_step="Pass a directory with a LoRA adapter."
        ) from error
    except (OSError, ValueError) as error:
        raise damaged_file(path, str(error)) from error
    if not isinstance(config, dict):
        raise damaged_file(path, "it is not a JSON object")
    return config


def _lora_section(path: Path, config: Mapping[str, Any], targets: tuple[LoraTarget, ...]) -> LoraSection:
    kinds = [key for key in _OTHER_KINDS if config.get(key)]
    if config.get("peft_type") != "LORA" or kinds:
        raise DataError(
            f"{path} describes an adapter of another kind: {', '.join(kinds) or config.get('peft_type')}.",
            next_step="Use a plain LoRA adapter, or merge it into its base with PEFT.",
        )
    try:
        return LoraSection(
            rank=config["r"],
            alpha=float(config["lora_alpha"]),
            dropout=float(config.get("lora_dropout", 0.0)),
            targets=targets,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise damaged_file(path, f"rank, alpha, dropout or targets cannot be read: {error}") from error


def _check_tensors(
    directory: Path, tensors: Mapping[str, StoredTensor], architecture: Architecture, lora: LoraSection
) -> None:
    expected = dict(_expected_shapes(architecture, lora))
    for name in sorted(expected.keys() ^ tensors.keys()):
        raise _misfit(directory, name, "is missing" if name in expected else "is not of that model")
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            reason = f"has shape {list(tensors[name].shape)} instead of {list(shape)}"
            raise _misfit(directory, name, reason)


def _expected_shapes(architecture: Architecture, lora: LoraSection) -> Iterator[tuple[str, tuple[int, int]]]:
    for layer in range(architecture.num_layers):
        for target in lora.targets:
            num_inputs, num_outputs = architecture.matrix_shapes[target]
            yield _tensor_name(layer, target, "a"), (lora.rank, num_inputs)
            yield _tensor_name(layer, target, "b"), (num_outputs, lora.rank)


def _misfit(directory: Path, tensor_name: str, reason: str) -> DataError:
    return DataError(
        f"The adapter in {directory} does not fit the model: its tensor {tensor_name} {reason}.",
        next_step=f"Use the base model that its {CONFIG_FILE} names.",
    )


def _stack(tensors: Mapping[str, StoredTensor], target: str, part: str, num_layers: int) -> Array:
    """One matrix of every layer, [L, in, r] or [L, r, out]."""
    matrices = [tensors[_tensor_name(layer, target, part)].read().T for layer in range(num_layers)]
    return jnp.asarray(np.stack(matrices), jnp.float32)
