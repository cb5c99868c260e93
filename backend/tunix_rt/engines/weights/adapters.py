"""Adapter files in PEFT's layout.

layer i, matrix q    base_model.model.model.layers.<i>.self_attn.q_proj.lora_A.weight [r, in]
                     base_model.model.model.layers.<i>.self_attn.q_proj.lora_B.weight [out, r]
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from tunix_rt.base.errors import DataError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.weights.architecture import MATRIX_MODULES, Architecture
from tunix_rt.engines.weights.safetensors import Framework, StoredTensor, damaged_file, open_tensor_file
from tunix_rt.recipes.types import LoraSection, LoraTarget

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"


def write_adapter_config(
    directory: Path, lora: LoraSection, *, base_model: str, revision: str | None
) -> None:
    """Write adapter_config.json.

    Args:
        directory: The directory of the adapter.
        lora: The recipe's section: rank, alpha, dropout, targets.
        base_model: Hub id or directory of the base model.
        revision: The commit of the base model on the hub.
    """
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_model,
        "revision": revision,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": lora.dropout,
        "target_modules": [MATRIX_MODULES[target].rpartition(".")[2] for target in sorted(lora.targets)],
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    write_json_atomically(directory / CONFIG_FILE, config, what="writing the adapter")


# Variants that compute something other than W + (alpha / rank) A B without showing it in their tensors.
_OTHER_KINDS = ("use_dora", "use_rslora", "use_qalora", "use_bdlora", "alpha_pattern", "layer_replication")


@contextmanager
def open_adapter(
    directory: Path, architecture: Architecture, framework: Framework = "numpy"
) -> Iterator[tuple[LoraSection, Mapping[str, StoredTensor]]]:
    """The LoRA settings of an adapter, and its tensors by name.

    Raises:
        DataError: A file is missing or damaged, does not match the architecture, or is of a variant that the
            engines do not support.
    """
    path = directory / CONFIG_FILE
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(
            f"{directory} has no {CONFIG_FILE}.", next_step="Pass a directory with a LoRA adapter."
        ) from error
    except (OSError, ValueError) as error:
        raise damaged_file(path, str(error)) from error
    if not isinstance(config, dict):
        raise damaged_file(path, "it is not a JSON object")
    with open_tensor_file(directory / WEIGHTS_FILE, framework) as tensors:
        targets = tuple(name for name in get_args(LoraTarget) if adapter_tensor_name(0, name, "a") in tensors)
        lora = _lora_section(path, config, targets)
        expected = dict(adapter_shapes(architecture, lora))
        for name in sorted(expected.keys() ^ tensors.keys()):
            reason = "is missing" if name in expected else "does not belong to that model"
            raise _misfit(directory, name, reason)
        for name, shape in expected.items():
            if tensors[name].shape != shape:
                reason = f"has shape {list(tensors[name].shape)} instead of {list(shape)}"
                raise _misfit(directory, name, reason)
        yield lora, tensors


def adapter_tensor_name(layer: int, target: str, part: str) -> str:
    """PEFT's name for a matrix of an adapter; the parts are `a` and `b`."""
    return f"base_model.model.model.layers.{layer}.{MATRIX_MODULES[target]}.lora_{part.upper()}.weight"


def _lora_section(path: Path, config: Mapping[str, Any], targets: tuple[LoraTarget, ...]) -> LoraSection:
    kinds = [key for key in _OTHER_KINDS if config.get(key)]
    if config.get("peft_type") != "LORA" or kinds:
        raise DataError(
            f"{path} is an unsupported adapter: {', '.join(kinds) or config.get('peft_type')}.",
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


def adapter_shapes(architecture: Architecture, lora: LoraSection) -> Iterator[tuple[str, tuple[int, int]]]:
    """Name and shape of every matrix of an adapter, as PEFT stores them."""
    for layer in range(architecture.num_layers):
        for target in lora.targets:
            num_inputs, num_outputs = architecture.matrix_shapes[target]
            yield adapter_tensor_name(layer, target, "a"), (lora.rank, num_inputs)
            yield adapter_tensor_name(layer, target, "b"), (num_outputs, lora.rank)


def _misfit(directory: Path, tensor_name: str, reason: str) -> DataError:
    return DataError(
        f"The adapter in {directory} does not fit the model: its tensor {tensor_name} {reason}.",
        next_step=f"Use the base model that its {CONFIG_FILE} names.",
    )
