"""Schedules, AdamW and Adafactor, against torch and transformers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from support.programs import tiny_recipe
from transformers.optimization import Adafactor as TransformersAdafactor

from tunix_rt.engines.jax.training.optimizer import learning_rate_at, make_optimizer
from tunix_rt.recipes.types import TrainingSection

NUM_LAYERS = 3


def training_section(**keys: Any) -> TrainingSection:
    return tiny_recipe(**({"schedule": "constant"} | keys)).training


def learning_rates(num_steps: int, **keys: Any) -> list[float]:
    schedule = learning_rate_at(training_section(learning_rate=1.0, **keys), num_steps)
    return [float(schedule(step)) for step in range(num_steps)]


def stacked_weights(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "embedding": jnp.asarray(rng.normal(size=(6, 4)), jnp.float32),
        "layers": {
            "up": jnp.asarray(rng.normal(size=(NUM_LAYERS, 4, 5)), jnp.float32),
            "mlp_norm": jnp.asarray(rng.normal(size=(NUM_LAYERS, 4)), jnp.float32),
        },
    }


def train(optimizer: optax.GradientTransformation, num_steps: int) -> dict[str, Any]:
    """Train with random gradients of growing size, and return the weights."""
    weights = stacked_weights()
    state, update = optimizer.init(weights), jax.jit(optimizer.update)
    for step in range(num_steps):
        updates, state = update(gradients_at(step), state, weights)
        weights = optax.apply_updates(weights, updates)
    return weights


def gradients_at(step: int) -> dict[str, Any]:
    return jax.tree.map(lambda leaf: leaf * (step + 1), stacked_weights(seed=step + 1))


def torch_tensors(tree: dict[str, Any]) -> list[torch.Tensor]:
    """One tensor per layer, as torch stores them: the embedding, the matrices, the norms."""
    layers = tree["layers"]
    arrays = [tree["embedding"], *layers["up"], *layers["mlp_norm"]]
    return [torch.tensor(np.asarray(array)) for array in arrays]


def train_in_torch(optimizer: torch.optim.Optimizer, num_steps: int) -> list[torch.Tensor]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for step in range(num_steps):
        for parameter, gradient in zip(parameters, torch_tensors(gradients_at(step)), strict=True):
            parameter.grad = gradient
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


def parameter_groups() -> list[dict[str, Any]]:
    """Torch parameter groups: weight decay applies to matrices, not to norms."""
    tensors = torch_tensors(stacked_weights())
    num_matrices = 1 + NUM_LAYERS
    return [
        {"params": tensors[:num_matrices], "weight_decay": 0.1},
        {"params": tensors[num_matrices:], "weight_decay": 0.0},
    ]


def assert_equal(actual: dict[str, Any], expected: list[torch.Tensor]) -> None:
    for tensor, expected_tensor in zip(torch_tensors(actual), expected, strict=True):
        torch.testing.assert_close(tensor, expected_tensor, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("schedule", "keys", "expected"),
    [
        ("linear", {"warmup_steps": 2}, [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        (
            "cosine",
            {"final_learning_rate_fraction": 0.2},
            [1, 0.2 + 0.8 * 0.853553, 0.6, 0.2 + 0.8 * 0.146447],
        ),
        ("constant", {"warmup_steps": 1}, [0.5, 1, 1, 1]),
    ],
)
def test_learning_rate_follows_schedule(schedule: str, keys: dict[str, Any], expected: list[float]) -> None:
    rates = learning_rates(len(expected), schedule=schedule, **keys)
    assert rates == pytest.approx(expected, rel=2e-6)


def test_single_step_has_peak_rate() -> None:
    assert learning_rates(1, schedule="cosine") == [1.0]


def test_adamw_matches_torch() -> None:
    settings = {"name": "adamw", "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-6}
    section = training_section(learning_rate=0.01, optimizer=settings)
    reference = torch.optim.AdamW(parameter_groups(), lr=0.01, betas=(0.8, 0.95), eps=1e-6)
    assert_equal(train(make_optimizer(section, 5), 5), train_in_torch(reference, 5))


def test_adafactor_matches_transformers() -> None:
    settings = {"name": "adafactor", "decay_rate": 0.7, "clipping_threshold": 0.9, "weight_decay": 0.1}
    section = training_section(learning_rate=0.01, optimizer=settings)
    reference = TransformersAdafactor(
        parameter_groups(),
        lr=0.01,
        scale_parameter=False,
        relative_step=False,
        decay_rate=-0.7,
        clip_threshold=0.9,
    )
    assert_equal(train(make_optimizer(section, 5), 5), train_in_torch(reference, 5))


def test_adafactor_factors_are_float32() -> None:
    section = training_section(optimizer="adafactor", precision={"weights": "bfloat16"})
    weights = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), stacked_weights())
    factors = make_optimizer(section, 5).init(weights)[0].second_moments["layers"]["up"]
    assert (factors.rows.shape, factors.columns.shape) == ((NUM_LAYERS, 4), (NUM_LAYERS, 5))
    assert factors.rows.dtype == factors.columns.dtype == jnp.float32


def test_adamw_moments_use_configured_dtype() -> None:
    section = training_section(precision={"optimizer_state": "bfloat16"})
    moments = make_optimizer(section, 5).init(stacked_weights())[0]
    formats = {leaf.dtype for leaf in jax.tree.leaves((moments.mu, moments.nu))}
    assert formats == {jnp.dtype(jnp.bfloat16)}


def test_bfloat16_second_moments_forget_large_gradients() -> None:
    """Rounding 0.999 x to the nearest number gives x, so the moment would never decay."""
    weights = {"up": jnp.zeros((64, 64))}
    moments = {}
    for state_format in ("float32", "bfloat16"):
        optimizer = make_optimizer(training_section(precision={"optimizer_state": state_format}), 5)
        update = jax.jit(optimizer.update)
        _, state = update({"up": jnp.full((64, 64), 100.0)}, optimizer.init(weights), weights)
        for _ in range(200):
            _, state = update({"up": jnp.zeros((64, 64))}, state, weights)
        moments[state_format] = float(jnp.mean(state[0].nu["up"].astype(jnp.float32)))
    assert moments["float32"] == pytest.approx(10 * 0.999**200, rel=1e-3)
    assert moments["bfloat16"] == pytest.approx(moments["float32"], rel=0.01)
