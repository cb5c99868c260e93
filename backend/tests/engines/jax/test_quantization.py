"""Quantized matrices: their error, size and gradients."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, hidden_states, output_embedding
from tunix_rt.engines.jax.model.lora import Adapter, Adapters, abstract_adapters, adapter_scale, project
from tunix_rt.engines.jax.model.params import Params, abstract_params
from tunix_rt.engines.jax.model.quantization import (
    NF4_LEVELS,
    QuantizedMatrix,
    abstract_quantized,
    dequantize,
    quantize,
    quantize_matrix,
)
from tunix_rt.engines.jax.training.loss import cross_entropy
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.types import LoraSection, QuantizationFormat, QuantizationSection

NF4 = QuantizationSection(format="nf4", block_size=16)
INT8 = QuantizationSection(format="int8", block_size=16)
LORA = LoraSection(rank=4, alpha=8.0)
GEMMA = {
    "model_type": "gemma",
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
}


def normal(shape: tuple[int, ...], *, seed: int = 0, size: float = 1.0) -> Array:
    return jnp.asarray(np.random.default_rng(seed).normal(0, size, shape).astype(np.float32))


def random_tree(abstract: Params) -> Params:
    return jax.tree.map(lambda leaf: normal(leaf.shape, size=0.2), abstract)


@pytest.fixture(scope="module")
def architecture() -> Architecture:
    return architecture_from_config(GEMMA)


@pytest.fixture(scope="module")
def weight() -> Array:
    """Two layers of 64 inputs and 24 outputs, the second with a block of zeros."""
    return normal((2, 64, 24)).at[1, 16:32].set(0.0)


def block_maxima(weight: Array, block_size: int) -> NDArray[np.float32]:
    num_layers, num_inputs, num_outputs = weight.shape
    blocks = np.abs(weight).reshape(num_layers, -1, block_size, num_outputs)
    return np.broadcast_to(blocks.max(2, keepdims=True), blocks.shape).reshape(num_layers, num_inputs, -1)


# Half of the widest gap between two levels, in units of a block's largest weight.
@pytest.mark.parametrize(("section", "largest_error"), [(NF4, (1 - 0.6961928) / 2), (INT8, 0.5 / 127)])
def test_quantization_error_is_bounded(
    weight: Array, section: QuantizationSection, largest_error: float
) -> None:
    dequantized = dequantize(quantize_matrix(weight, section, "q"), jnp.float32)

    errors = np.abs(dequantized - weight)
    assert (errors <= largest_error * block_maxima(weight, 16) + 1e-6).all()
    assert not dequantized[1, 16:32].any()


def test_nf4_rounds_to_nearest_level(weight: Array) -> None:
    largest = np.maximum(block_maxima(weight, 16), 1e-30)
    distances = np.abs((np.asarray(weight) / largest)[..., None] - np.asarray(NF4_LEVELS))
    nearest = np.asarray(NF4_LEVELS, np.float32)[distances.argmin(-1)] * largest

    np.testing.assert_allclose(dequantize(quantize_matrix(weight, NF4, "q"), jnp.float32), nearest, atol=1e-7)


@pytest.mark.parametrize("section", [NF4, INT8])
def test_quantization_is_idempotent(weight: Array, section: QuantizationSection) -> None:
    once = quantize_matrix(weight, section, "q")

    twice = quantize_matrix(dequantize(once, jnp.float32), section, "q")

    np.testing.assert_array_equal(twice.codes, once.codes)
    np.testing.assert_allclose(twice.scales, once.scales, rtol=1e-6)


@pytest.mark.parametrize(("format", "num_bits"), [("nf4", 4.5), ("int8", 8.5)])
def test_storage_matches_bits_per_weight(format: QuantizationFormat, num_bits: float) -> None:
    matrix = QuantizationSection(format=format, block_size=64)
    abstract = jax.eval_shape(
        lambda weight: quantize_matrix(weight, matrix, "q"),
        jax.ShapeDtypeStruct((3, 1024, 256), jnp.bfloat16),
    )
    compiled = jax.jit(lambda layers: dequantize(layers, jnp.bfloat16)).lower(abstract).compile()

    assert abstract.shape == (3, 1024, 256)
    assert compiled.memory_analysis().argument_size_in_bytes == 3 * 1024 * 256 * num_bits / 8


def test_only_layer_matrices_are_quantized(architecture: Architecture) -> None:
    params = abstract_params(architecture, jnp.bfloat16)

    quantized = abstract_quantized(params, NF4)

    names = {name for name, leaf in quantized["layers"].items() if isinstance(leaf, QuantizedMatrix)}
    assert names == set(architecture.matrix_shapes)
    assert quantized["embedding"].dtype == quantized["layers"]["mlp_norm"].dtype == jnp.bfloat16


def test_quantized_matrices_are_kept() -> None:
    loaded = {"layers": {"q": quantize_matrix(normal((2, 32, 32)), NF4, "q"), "mlp_norm": normal((2, 32))}}

    quantized = quantize(loaded, NF4)

    assert quantized["layers"]["q"] is loaded["layers"]["q"]
    assert quantized["layers"]["mlp_norm"] is loaded["layers"]["mlp_norm"]


@pytest.mark.parametrize(
    ("num_inputs", "block_size", "advice"), [(96, 64, "Set it to 32"), (27, 9, "mode lora")]
)
def test_bad_block_size_error_names_matrix(num_inputs: int, block_size: int, advice: str) -> None:
    section = QuantizationSection(block_size=block_size)

    with pytest.raises(
        InvalidInputError, match=f"block_size {block_size} .* {num_inputs} inputs of down.*{advice}"
    ):
        quantize_matrix(jnp.zeros((1, num_inputs, 4)), section, "down")


def test_quantized_product_matches_dequantized(weight: Array) -> None:
    matrix = jax.tree.map(lambda leaf: leaf[0], quantize_matrix(weight, NF4, "q"))
    x = normal((3, 64), seed=1)

    output, pull_back = jax.vjp(jax.jit(lambda x: project(x, matrix)), x)

    dequantized = dequantize(matrix, jnp.float32)
    np.testing.assert_allclose(output, x @ dequantized, atol=1e-5)
    np.testing.assert_allclose(pull_back(output)[0], output @ dequantized.T, atol=1e-4)


def test_qlora_gradients_match_finite_differences(
    architecture: Architecture,
) -> None:
    frozen = jax.jit(partial(quantize, section=NF4))(random_tree(abstract_params(architecture, jnp.float32)))
    loss_and_gradients = jax.jit(jax.value_and_grad(partial(qlora_loss, frozen, architecture)))
    flat, unflatten = ravel_pytree(random_tree(abstract_adapters(architecture, LORA)))
    _, gradients = loss_and_gradients(unflatten(flat))
    predicted = ravel_pytree(gradients)[0]
    # Half along the gradient, so that the slope exceeds rounding errors; half in a random direction.
    noise = normal(flat.shape, seed=1)
    direction = predicted / jnp.linalg.norm(predicted) + noise / jnp.linalg.norm(noise)

    step = 3e-3
    ahead, _ = loss_and_gradients(unflatten(flat + step * direction))
    behind, _ = loss_and_gradients(unflatten(flat - step * direction))

    slope = float(ahead - behind) / (2 * step)
    assert float(predicted @ direction) == pytest.approx(slope, rel=0.01)


def qlora_loss(frozen: Params, architecture: Architecture, adapters: Adapters) -> Array:
    tokens = jnp.arange(2 * 16).reshape(2, 16)
    inputs = Inputs(tokens, jnp.ones_like(tokens), jnp.broadcast_to(jnp.arange(16), tokens.shape))
    options = ForwardOptions(jnp.float32, adapter_scale=adapter_scale(LORA))
    hidden = hidden_states(frozen, adapters, architecture, inputs, options)
    loss, _ = cross_entropy(
        hidden, output_embedding(frozen, architecture), tokens[:, ::-1], jnp.ones_like(tokens), chunk_tokens=8
    )
    return loss


def test_backward_pass_keeps_weights_quantized() -> None:
    num_layers, width = 16, 512
    model_bytes = num_layers * width * width * 4
    frozen = jax.eval_shape(
        lambda weight: quantize_matrix(weight, QuantizationSection(), "q"),
        jax.ShapeDtypeStruct((num_layers, width, width), jnp.float32),
    )
    adapter = {
        "a": jax.ShapeDtypeStruct((num_layers, width, 4), jnp.float32),
        "b": jax.ShapeDtypeStruct((num_layers, 4, width), jnp.float32),
    }

    def loss(adapters: Adapter, x: Array, frozen: QuantizedMatrix) -> Array:
        def layer(x: Array, weights: tuple[QuantizedMatrix, Adapter]) -> tuple[Array, None]:
            return jnp.tanh(project(x, *weights)), None

        return jnp.sum(jax.lax.scan(layer, x, (frozen, adapters))[0])

    states = jax.ShapeDtypeStruct((8, width), jnp.float32)
    compiled = jax.jit(jax.value_and_grad(loss)).lower(adapter, states, frozen).compile()

    assert compiled.memory_analysis().temp_size_in_bytes < model_bytes / 4
