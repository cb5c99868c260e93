"""Number formats: the effect of a small update on a weight."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray
from support.programs import tiny_program, tiny_recipe

from tunix_rt.engines.jax.training.state import add_updates, cast_for_compute, round_stochastically


def test_stochastic_rounding_is_unbiased() -> None:
    values = jnp.full((100_000,), 1.0 + 2**-9, jnp.float32)  # A quarter of the way from 1 to 1 + 2**-7.
    rounded = round_stochastically(values, jax.random.key(0)).astype(jnp.float32)
    assert set(np.unique(rounded)) == {1.0, 1.0 + 2**-7}
    assert float(jnp.mean(rounded)) == pytest.approx(1.0 + 2**-9, abs=1e-4)


def test_stochastic_rounding_keeps_exact_values() -> None:
    values = jnp.asarray([0.0, -1.5, 3.0, jnp.inf, -jnp.inf, jnp.nan], jnp.float32)
    rounded = round_stochastically(values, jax.random.key(0)).astype(jnp.float32)
    np.testing.assert_array_equal(rounded, values)


def weight_changes(weight_format: str, rounding_seed: int | None = None) -> NDArray[np.float32]:
    """How much 20 updates of 1e-5 change each of many random weights."""
    start = jax.random.normal(jax.random.key(1), (100, 1000)).astype(jnp.bfloat16)

    @jax.jit
    def update(weights: Any, step: int) -> Any:
        key = None if rounding_seed is None else jax.random.fold_in(jax.random.key(rounding_seed), step)
        return add_updates(weights, {"up": jnp.full(start.shape, 1e-5)}, key)

    weights = {"up": start.astype(weight_format)}
    for step in range(20):
        weights = update(weights, step)
    return np.asarray(weights["up"], np.float32) - np.asarray(start, np.float32)


def test_float32_weights_accumulate_small_updates() -> None:
    changes = weight_changes("float32")
    assert np.mean(changes > 0) > 0.99
    assert np.mean(changes) == pytest.approx(20e-5, rel=0.01)


def test_bfloat16_weights_lose_small_updates() -> None:
    assert np.mean(weight_changes("bfloat16") > 0) < 0.05


def test_stochastic_rounding_preserves_small_updates() -> None:
    assert np.mean(weight_changes("bfloat16", rounding_seed=0)) == pytest.approx(20e-5, rel=0.1)


def test_only_matrices_are_cast() -> None:
    stored = {
        "embedding": jnp.zeros((4, 2)),
        "layers": {"up": jnp.zeros((1, 2, 3)), "mlp_norm": jnp.zeros((1, 2))},
    }
    computing = cast_for_compute(stored, jnp.bfloat16)
    assert computing["layers"]["up"].dtype == jnp.bfloat16
    assert computing["layers"]["mlp_norm"].dtype == computing["embedding"].dtype == jnp.float32


@pytest.mark.parametrize(("compute", "is_exact"), [("float32", True), ("bfloat16", False)])
def test_float32_products_request_highest_precision(compute: str, is_exact: bool) -> None:
    program = tiny_program(tiny_recipe(precision={"compute": compute}))
    lowered = program.train_step.lower(  # type: ignore[attr-defined]
        program.abstract_state, program.abstract_frozen, program.abstract_batch
    )
    products = [line for line in lowered.as_text().splitlines() if "dot_general" in line and "f32" in line]
    assert products
    assert all("HIGHEST" in line for line in products) == is_exact
