"""The decoder beyond parity: rematerialization, padding, number formats, initial weights, adapters."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from support.rows import packed_rows
from support.tiny_models import CONFIGS

from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, hidden_states, rms_norm
from tunix_rt.engines.jax.model.lora import init_adapters
from tunix_rt.engines.jax.model.params import Params, abstract_params, init_params
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.types import LoraSection, Remat


def _architecture(name: str) -> Architecture:
    return architecture_from_config(CONFIGS[name].to_dict())


GEMMA2 = _architecture("gemma2")


def _inputs() -> Inputs:
    """A packed row, a padded row, and a row of padding only."""
    tokens = np.random.default_rng(0).integers(1, 96, size=16, dtype=np.int32)
    return packed_rows([[tokens[:9], tokens[:7]], [tokens[:5]], []], 16)


@cache
def _params(architecture: Architecture = GEMMA2, seed: int = 0) -> Params:
    params: Params = jax.jit(lambda: init_params(architecture, jax.random.key(seed), jnp.float32))()
    return params


@partial(jax.jit, static_argnames=("options",))
def _hidden(
    params: Params, options: ForwardOptions, adapters: Params | None = None, key: Array | None = None
) -> Array:
    return hidden_states(params, adapters, GEMMA2, _inputs(), options, dropout_key=key)


@partial(jax.jit, static_argnames=("options",))
def _gradients(params: Params, options: ForwardOptions) -> Params:
    def loss(params: Params) -> Array:
        hidden = hidden_states(params, None, GEMMA2, _inputs(), options)
        return jnp.cos(hidden.astype(jnp.float32)).sum()

    return jax.grad(loss)(params)


def test_remat_keeps_gradients() -> None:
    stored = _gradients(_params(), ForwardOptions("float32", remat="none"))
    for remat in ("dots", "block"):
        recomputed = _gradients(_params(), ForwardOptions("float32", remat=remat))
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-4, rtol=1e-4), recomputed, stored)
    assert all(jnp.abs(gradient).max() > 1e-3 for gradient in jax.tree.leaves(stored))


def test_unrolled_layers_match_scan_gradients() -> None:
    looped, unrolled = (
        _gradients(_params(), ForwardOptions("float32", remat="block", unrolls_layers=unrolls))
        for unrolls in (False, True)
    )
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-4, rtol=1e-4), unrolled, looped)


def test_remat_levels_recompute_progressively() -> None:
    def num_products(remat: Remat) -> int:
        params = abstract_params(GEMMA2, jnp.float32)
        program = jax.make_jaxpr(partial(_gradients, options=ForwardOptions("float32", remat=remat)))(params)
        return str(program).count("dot_general")

    assert num_products("none") < num_products("dots") < num_products("block")


def test_padding_gives_finite_gradients() -> None:
    gradients = _gradients(_params(), ForwardOptions("float32", remat="block"))
    assert all(jnp.isfinite(gradient).all() for gradient in jax.tree.leaves(gradients))


def test_bfloat16_compute_stays_near_float32() -> None:
    wide, narrow = (_hidden(_params(), ForwardOptions(dtype)) for dtype in ("float32", "bfloat16"))
    assert narrow.dtype == jnp.bfloat16
    np.testing.assert_allclose(narrow.astype(jnp.float32), wide, atol=0.1)


def test_norms_are_computed_in_float32() -> None:
    x = jax.random.normal(jax.random.key(0), (4, GEMMA2.hidden_size)).astype(jnp.bfloat16)
    weight = jnp.linspace(-0.5, 0.5, GEMMA2.hidden_size)
    exact = rms_norm(x.astype(jnp.float32), weight, GEMMA2).astype(jnp.bfloat16)
    np.testing.assert_array_equal(rms_norm(x, weight, GEMMA2), exact)


@pytest.mark.parametrize("name", CONFIGS)
def test_initial_weights_match_abstract_shapes(name: str) -> None:
    architecture = _architecture(name)
    planned = abstract_params(architecture, jnp.bfloat16)
    made = jax.eval_shape(lambda: init_params(architecture, jax.random.key(0), jnp.bfloat16))
    assert made == planned
    assert sum(leaf.size for leaf in jax.tree.leaves(planned)) == architecture.num_parameters


def test_initialization_is_seeded_with_neutral_norms() -> None:
    first, same, other = _params(), _params.__wrapped__(), _params(seed=1)
    jax.tree.map(np.testing.assert_array_equal, first, same)
    assert not jnp.array_equal(first["layers"]["q"], other["layers"]["q"])
    assert not first["layers"]["attention_norm"].any()
    assert (_params(_architecture("llama"))["layers"]["attention_norm"] == 1).all()


def test_adapters_act_on_every_matrix() -> None:
    """Dropout applies only when a key is passed, and the key determines it."""
    adapters = init_adapters(GEMMA2, LoraSection(rank=2), jax.random.key(1))
    run = partial(_hidden, _params(), ForwardOptions("float32", adapter_scale=2.0, adapter_dropout=0.5))
    base = _hidden(_params(), ForwardOptions("float32"))
    np.testing.assert_allclose(run(adapters), base, atol=1e-5)  # b = 0

    moved: Any = jax.tree.map(lambda leaf: leaf + 0.1, adapters)
    for target in moved["layers"]:
        alone = {"layers": adapters["layers"] | {target: moved["layers"][target]}}
        assert jnp.abs(run(alone) - base).max() > 1e-3, target
    dropped = [run(moved, jax.random.key(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(dropped[0], dropped[1])
    assert not jnp.array_equal(dropped[0], dropped[2])
    assert not jnp.array_equal(dropped[0], run(moved))
