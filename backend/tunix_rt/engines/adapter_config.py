"""`adapter_config.json`: what PEFT must know of an adapter besides its tensors."""

from pathlib import Path

from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.engines.tensor_names import MATRIX_MODULES
from tunix_rt.recipes.types import LoraSection

CONFIG_FILE = "adapter_config.json"
WEIGHTS_FILE = "adapter_model.safetensors"


def write_adapter_config(
    directory: Path, lora: LoraSection, *, base_model: str, revision: str | None
) -> None:
    """Write the file.

    Args:
        directory: of the adapter.
        lora: the recipe's section: rank, alpha, dropout, targets.
        base_model: hub id or directory of the weights that the adapters belong to.
        revision: the base's commit on the hub.
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
