"""A tiny model with recipes, batches and train steps, for tests of the JAX train step."""

from typing import Any

import jax
import numpy as np

from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.training.state import StepMetrics, TrainState
from tunix_rt.engines.types import Platform
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batch

ROW_LENGTH = 16
FLOAT32 = {"compute": "float32"}
TINY_GEMMA2 = {
    "model_type": "gemma2",
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "sliding_window": 8,
    "attn_logit_softcapping": 50.0,
    "final_logit_softcapping": 30.0,
    "query_pre_attn_scalar": 8,
}


def tiny_architecture(**changes: Any) -> Architecture:
    return architecture_from_config(TINY_GEMMA2 | changes)


def tiny_recipe(sections: dict[str, Any] | None = None, **training: Any) -> Recipe:
    """Return a recipe for the tiny model in float32; `training` replaces keys of that section."""
    defaults = {"num_steps": 10, "batch_size": 8, "learning_rate": 1e-2, "precision": FLOAT32}
    return Recipe.model_validate(
        {
            "model": {"name": "tiny", "weights": "random"},
            "data": {"row_length": ROW_LENGTH},
            "training": defaults | training,
            **(sections or {}),
        }
    )


def tiny_program(recipe: Recipe, *, platform: Platform = "cpu", **architecture: Any) -> Program:
    """Build the program of a recipe on all devices of this process, with the layout of `platform`."""
    mesh = make_mesh(recipe.sharding, jax.devices())
    return build_program(recipe, tiny_architecture(**architecture), mesh, num_steps=10, platform=platform)


def random_batch(*, num_rows: int = 8, seed: int = 0, row_length: int = ROW_LENGTH) -> Batch:
    """Return rows of random tokens with a growing number of trained tokens."""
    shape = (num_rows, row_length)
    tokens = np.random.default_rng(seed).integers(0, TINY_GEMMA2["vocab_size"], shape).astype(np.int32)
    columns = np.tile(np.arange(row_length, dtype=np.int32), (num_rows, 1))
    num_trained = np.linspace(1, row_length - 1, num_rows).astype(np.int32)[:, None]
    return Batch(
        tokens=tokens,
        targets=np.roll(tokens, -1, axis=1),
        loss_mask=(columns < num_trained).astype(np.uint8),
        segment_ids=np.ones(shape, np.int32),
        positions=columns,
        examples=(),
    )


def tiny_params(program: Program) -> Params:
    """Return random weights, created without compiling."""
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda leaf: (rng.normal(size=leaf.shape) / np.sqrt(leaf.shape[-1])).astype(leaf.dtype),
        program.abstract_params,
    )


def train(
    program: Program, *, num_steps: int, params: Params | None = None
) -> tuple[TrainState, list[StepMetrics]]:
    """Train on batches 0, 1, …, starting from `params` or from `tiny_params`."""
    state, frozen = program.init_state(tiny_params(program) if params is None else params)
    metrics = []
    for index in range(num_steps):
        state, step_metrics = program.train_step(state, frozen, program.put_batch(random_batch(seed=index)))
        metrics.append(step_metrics)
    return state, metrics


def largest_difference(left: Any, right: Any) -> float:
    """Return the largest absolute difference of two trees."""
    differences = jax.tree.map(lambda a, b: float(np.abs(np.asarray(a) - np.asarray(b)).max()), left, right)
    return max(jax.tree.leaves(differences))
