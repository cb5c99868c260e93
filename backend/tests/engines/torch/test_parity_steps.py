"""Both engines make the same of a recipe: the same batches, the same losses, the same weights.

Float32 on the CPU, 20 steps from the same weights, with warm-up, cosine, weight decay and active clipping.
Every optimizer, every number of micro-batches and every mode meets both models.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.parity import (
    largest_difference,
    prepare_sums,
    save_first_adapters,
    save_tiny_model,
    train_in_jax,
    train_in_torch,
)

from tunix_rt.recipes.types import Recipe

ADAMW = {"name": "adamw", "weight_decay": 0.1}
ADAFACTOR = {"name": "adafactor", "weight_decay": 0.1}
LORA = {"rank": 4, "alpha": 8.0, "targets": ["q", "v", "up", "down"]}
MAX_GRAD_NORM = 0.5


def recipe_for(model: Path, optimizer: dict[str, Any], num_parts: int, lora: dict[str, Any] | None) -> Recipe:
    training = {
        "mode": "full" if lora is None else "lora",
        "num_steps": 20,
        "batch_size": 4,
        "gradient_accumulation_steps": num_parts,
        "learning_rate": 1e-3,
        "warmup_steps": 3,
        "schedule": "cosine",
        "final_learning_rate_fraction": 0.1,
        "optimizer": optimizer,
        "max_grad_norm": MAX_GRAD_NORM,
        "loss_chunk_tokens": 64,
        "remat": "none",
        "precision": {"compute": "float32"},
    }
    return Recipe.model_validate(
        {
            "model": {"name": str(model), "tokenizer": "tiny"},
            "data": {"row_length": 64},
            "training": training,
            **({} if lora is None else {"lora": lora}),
        }
    )


@pytest.mark.parametrize(
    ("model", "optimizer", "num_parts", "lora"),
    [
        ("tiny-gemma", ADAMW, 4, None),
        ("tiny-llama", ADAFACTOR, 1, None),
        ("tiny-gemma", ADAFACTOR, 1, LORA),
        ("tiny-llama", ADAMW, 4, LORA),
    ],
    ids=["gemma-adamw", "llama-adafactor", "gemma-lora-adafactor", "llama-lora-adamw"],
)
def test_both_engines_train_the_same(
    model: str, optimizer: dict[str, Any], num_parts: int, lora: dict[str, Any] | None, tmp_path: Path
) -> None:
    weights, adapters, scratch = (tmp_path / name for name in ("weights", "adapters", "scratch"))
    for directory in (weights, adapters, scratch):
        directory.mkdir()
    recipe = recipe_for(save_tiny_model(model, weights), optimizer, num_parts, lora)
    prepared = prepare_sums(recipe)
    first = None if lora is None else save_first_adapters(prepared, adapters)

    theirs = train_in_jax(prepared, first, scratch)
    ours = train_in_torch(prepared, first)

    is_trained = theirs.batch["loss_mask"] > 0
    for name in ("tokens", "segment_ids", "positions", "loss_mask"):
        np.testing.assert_array_equal(ours.batch[name], theirs.batch[name])
    np.testing.assert_array_equal(ours.batch["targets"][is_trained], theirs.batch["targets"][is_trained])
    assert ours.losses == pytest.approx(theirs.losses, abs=1e-4)
    assert ours.grad_norms == pytest.approx(theirs.grad_norms, rel=1e-3)
    assert largest_difference(ours.weights, theirs.weights) < 1e-4
    # The test would prove little of a training that clips nothing and learns nothing.
    assert max(theirs.grad_norms) > MAX_GRAD_NORM
    assert theirs.losses[-1] < theirs.losses[0] - 0.1
