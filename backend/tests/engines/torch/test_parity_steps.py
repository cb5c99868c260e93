"""Both engines train a recipe with the same batches to the same losses and weights.

Float32 on the CPU, 20 steps from the same weights: warm-up, cosine decay, weight decay and active clipping.
Each optimizer, number of micro-batches and mode is tested with both models.
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


def recipe_for(
    model: Path, optimizer: dict[str, Any], num_micro_batches: int, lora: dict[str, Any] | None
) -> Recipe:
    training = {
        "mode": "full" if lora is None else "lora",
        "num_steps": 20,
        "batch_size": 4,
        "gradient_accumulation_steps": num_micro_batches,
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
    ("model", "optimizer", "num_micro_batches", "lora"),
    [
        ("tiny-gemma", ADAMW, 4, None),
        ("tiny-llama", ADAFACTOR, 1, None),
        ("tiny-gemma", ADAFACTOR, 1, LORA),
        ("tiny-llama", ADAMW, 4, LORA),
    ],
    ids=["gemma-adamw", "llama-adafactor", "gemma-lora-adafactor", "llama-lora-adamw"],
)
def test_torch_training_matches_jax(
    model: str, optimizer: dict[str, Any], num_micro_batches: int, lora: dict[str, Any] | None, tmp_path: Path
) -> None:
    weights, adapters, scratch = (tmp_path / name for name in ("weights", "adapters", "scratch"))
    for directory in (weights, adapters, scratch):
        directory.mkdir()
    recipe = recipe_for(save_tiny_model(model, weights), optimizer, num_micro_batches, lora)
    prepared = prepare_sums(recipe)
    first = None if lora is None else save_first_adapters(prepared, adapters)

    jax_run = train_in_jax(prepared, first, scratch)
    torch_run = train_in_torch(prepared, first)

    is_trained = jax_run.batch["loss_mask"] > 0
    for name in ("tokens", "segment_ids", "positions", "loss_mask"):
        np.testing.assert_array_equal(torch_run.batch[name], jax_run.batch[name])
    np.testing.assert_array_equal(
        torch_run.batch["targets"][is_trained], jax_run.batch["targets"][is_trained]
    )
    assert torch_run.losses == pytest.approx(jax_run.losses, abs=1e-4)
    assert torch_run.grad_norms == pytest.approx(jax_run.grad_norms, rel=1e-3)
    assert largest_difference(torch_run.weights, jax_run.weights) < 1e-4
    # Without clipping and learning, the comparison would prove little.
    assert max(jax_run.grad_norms) > MAX_GRAD_NORM
    assert jax_run.losses[-1] < jax_run.losses[0] - 0.1
