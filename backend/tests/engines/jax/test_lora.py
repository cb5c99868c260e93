"""LoRA adapters: initialization, adapted products, dropout and merging."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import peft
import pytest
import torch
from jax import Array
from support.rows import logits

from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs
from tunix_rt.engines.jax.model.lora import (
    Adapter,
    Adapters,
    abstract_adapters,
    adapter_scale,
    init_adapters,
    merge_matrix,
    project,
)
from tunix_rt.engines.jax.model.params import Params, abstract_params
from tunix_rt.engines.jax.model.quantization import plain_matrix, quantize
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.types import LoraSection, QuantizationSection

LLAMA = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
LORA = LoraSection(rank=4, alpha=8.0, targets=("q", "v", "down"))


@pytest.fixture(scope="module")
def architecture() -> Architecture:
    return architecture_from_config(LLAMA)


@pytest.fixture(scope="module")
def params(architecture: Architecture) -> Params:
    noise = np.random.default_rng(0)
    return jax.tree.map(
        lambda leaf: jnp.asarray(noise.normal(0, 0.2, leaf.shape).astype(np.float32)),
        abstract_params(architecture, jnp.float32),
    )


@pytest.fixture(scope="module")
def fresh(architecture: Architecture) -> Adapters:
    return jax.jit(init_adapters, static_argnums=(0, 1))(architecture, LORA, jax.random.key(1))


@pytest.fixture(scope="module")
def trained(fresh: Adapters) -> Adapters:
    """Adapters whose B matrices are no longer zero."""
    noise = np.random.default_rng(2)
    return jax.tree.map(lambda leaf: leaf + noise.normal(0, 0.1, leaf.shape).astype(np.float32), fresh)


@partial(jax.jit, static_argnums=2)
def forward(params: Params, adapters: Adapters | None, architecture: Architecture) -> Array:
    tokens = jnp.arange(2 * 16).reshape(2, 16)
    inputs = Inputs(tokens, jnp.ones_like(tokens), jnp.broadcast_to(jnp.arange(16), tokens.shape))
    options = ForwardOptions(compute_dtype=jnp.float32, adapter_scale=adapter_scale(LORA))
    return logits(params, adapters, architecture, inputs, options)


def test_only_targets_get_adapters(architecture: Architecture, fresh: Adapters) -> None:
    shapes = jax.tree.map(lambda leaf: leaf.shape, fresh, is_leaf=lambda leaf: isinstance(leaf, Array))

    assert shapes == {
        "layers": {
            "q": {"a": (2, 32, 4), "b": (2, 4, 32)},
            "v": {"a": (2, 32, 4), "b": (2, 4, 16)},
            "down": {"a": (2, 48, 4), "b": (2, 4, 32)},
        }
    }


def test_abstract_adapters_match_initialized(architecture: Architecture, fresh: Adapters) -> None:
    abstract = abstract_adapters(architecture, LORA)

    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), fresh) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), abstract
    )


def test_initialization_matches_peft(fresh: Adapters) -> None:
    a, b = fresh["layers"]["down"]["a"], fresh["layers"]["down"]["b"]
    bound = 1 / np.sqrt(48)

    assert not b.any()
    assert jnp.abs(a).max() <= bound
    # The standard deviation of a uniform distribution within ± bound.
    assert float(a.std()) == pytest.approx(bound / np.sqrt(3), rel=0.1)
    assert not np.array_equal(a[0], a[1])


def test_initialization_is_independent_per_target(architecture: Architecture, fresh: Adapters) -> None:
    more = init_adapters(architecture, LORA.model_copy(update={"targets": ("gate", "q")}), jax.random.key(1))

    np.testing.assert_array_equal(more["layers"]["q"]["a"], fresh["layers"]["q"]["a"])


def test_fresh_adapters_keep_logits(architecture: Architecture, params: Params, fresh: Adapters) -> None:
    np.testing.assert_array_equal(forward(params, fresh, architecture), forward(params, None, architecture))


def merge(params: Params, adapters: Adapters, scale: float) -> Params:
    """Merge the adapters into the model, matrix by matrix, as an export does."""
    dtype = params["embedding"].dtype
    layers = {name: plain_matrix(weight, dtype) for name, weight in params["layers"].items()}
    for name, adapter in adapters["layers"].items():
        pairs = (params["layers"][name], adapter)
        layers[name] = jax.lax.map(lambda layer: merge_matrix(*layer, scale, dtype), pairs)
    return params | {"layers": layers}


def test_merged_model_keeps_logits(architecture: Architecture, params: Params, trained: Adapters) -> None:
    adapted = forward(params, trained, architecture)

    merged = forward(merge(params, trained, adapter_scale(LORA)), None, architecture)

    np.testing.assert_allclose(merged, adapted, atol=2e-5)
    assert float(jnp.abs(adapted - forward(params, None, architecture)).max()) > 0.1


def test_merging_dequantizes_and_keeps_logits(
    architecture: Architecture, params: Params, trained: Adapters
) -> None:
    quantized = jax.jit(quantize, static_argnums=1)(params, QuantizationSection(block_size=16))

    merged = merge(quantized, trained, adapter_scale(LORA))

    assert jax.tree.map(jnp.shape, merged) == jax.tree.map(jnp.shape, params)
    np.testing.assert_allclose(
        forward(merged, None, architecture), forward(quantized, trained, architecture), atol=2e-5
    )


def test_merging_keeps_weight_dtype(params: Params, trained: Adapters) -> None:
    half = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params)
    expected = half["layers"]["q"].astype(jnp.float32) + 2.0 * jnp.einsum(
        "lir,lro->lio", trained["layers"]["q"]["a"], trained["layers"]["q"]["b"]
    )

    merged = merge(half, trained, 2.0)

    assert {leaf.dtype for leaf in jax.tree.leaves(merged)} == {jnp.dtype(jnp.bfloat16)}
    np.testing.assert_array_equal(merged["layers"]["q"], expected.astype(jnp.bfloat16))


class _OneMatrix(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj = torch.nn.Linear(32, 24, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.q_proj(x)


@pytest.fixture
def peft_model() -> peft.PeftModel:
    torch.manual_seed(0)
    config = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj"], init_lora_weights=False)
    return peft.get_peft_model(_OneMatrix(), config)


def test_projection_matches_peft(peft_model: peft.PeftModel) -> None:
    x = np.random.default_rng(0).normal(size=(2, 5, 32)).astype(np.float32)
    peft_weights = {
        name.split(".")[-3 if "lora" in name else -2]: p for name, p in peft_model.named_parameters()
    }
    jax_weights = {name: jnp.asarray(p.detach().numpy().T) for name, p in peft_weights.items()}
    output = peft_model(torch.from_numpy(x))
    output.square().sum().backward()

    def square_sum(adapter: Adapter) -> tuple[Array, Array]:
        y = project(jnp.asarray(x), jax_weights["base_layer"], adapter, scale=2.0)
        return jnp.sum(jnp.square(y)), y

    grads, y = jax.jit(jax.grad(square_sum, has_aux=True))(
        Adapter(a=jax_weights["lora_A"], b=jax_weights["lora_B"])
    )

    np.testing.assert_allclose(y, output.detach().numpy(), atol=1e-5)
    np.testing.assert_allclose(grads["a"], peft_weights["lora_A"].grad.numpy().T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads["b"], peft_weights["lora_B"].grad.numpy().T, rtol=1e-4, atol=1e-4)


def test_dropout_keeps_adapter_input_mean() -> None:
    identity = Adapter(a=jnp.eye(64), b=jnp.eye(64))

    @jax.jit
    def adapted(key: Array | None) -> Array:
        return project(jnp.ones((200, 64)), 5.0 * jnp.eye(64), identity, dropout=0.25, dropout_key=key)

    added = np.asarray(adapted(jax.random.key(0))) - 5.0

    np.testing.assert_allclose(np.unique(added), [0.0, 1 / 0.75], atol=1e-5)
    assert (added == 0).mean() == pytest.approx(0.25, abs=0.02)
    np.testing.assert_array_equal(adapted(None), np.full((200, 64), 6.0))


def test_adapters_compute_in_input_dtype() -> None:
    def product_and_gradients(
        x: Array, weight: Array, adapter: Adapter
    ) -> tuple[Array, tuple[Array, Adapter]]:
        output, pull_back = jax.vjp(partial(project, x), weight, adapter)
        return output, pull_back(output)

    single = partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
    output, gradients = jax.eval_shape(
        product_and_gradients,
        jax.ShapeDtypeStruct((3, 8), jnp.bfloat16),
        single((8, 4)),
        {"a": single((8, 2)), "b": single((2, 4))},
    )

    assert output.dtype == jnp.bfloat16
    assert {leaf.dtype for leaf in jax.tree.leaves(gradients)} == {jnp.dtype("float32")}
