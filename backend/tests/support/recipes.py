"""Builders of recipes."""

from typing import Any

from tunix_rt.recipes.types import Recipe


def make_recipe(model: str = "google/gemma-2b", **keys: Any) -> Recipe:
    """Return a valid recipe with dotted keys set: make_recipe(**{"training.remat": "none"})."""
    values: dict[str, Any] = {
        "model": {"name": model, "weights": "random"},
        "data": {},
        "training": {"num_steps": 100, "precision": {}},
        "sharding": {},
    }
    for key, value in keys.items():
        section = values
        *path, last = key.split(".")
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    return Recipe.model_validate(values)


SEED_KEYS: dict[str, Any] = {
    "data.row_length": 64,
    "data.packing": False,
    "training.batch_size": 1,
    "training.optimizer": "adamw",
    "training.precision.weights": "bfloat16",
    "training.precision.optimizer_state": "bfloat16",
    "training.remat": "none",
    "training.loss_chunk_tokens": None,
    "training.donate_buffers": False,
    "training.attention": "dense",
    "sharding.data": 1,
    "sharding.fsdp": 1,
    "sharding.tensor": 1,
}
"""The settings of the original code: one chip of eight, AdamW in bfloat16, no donated buffers."""
