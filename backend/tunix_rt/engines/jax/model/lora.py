"""Linear layers with LoRA adapters; merging.

Adapters are float32, one pair per target, stacked over the layers like the weights:

    {"layers": {"q": {"a": [L, in, rank], "b": [L, rank, out]}, ...}}
"""

import math
import zlib
from typing import Any, TypeAlias, TypedDict

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.jax.model.quantization import QuantizedMatrix, plain_matrix
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import LoraSection


class Adapter(TypedDict):
    """The low-rank pair of one matrix."""

    a: jax.Array
    b: jax.Array


def project(
    x: jax.Array,
    weight: jax.Array | QuantizedMatrix,
    adapter: Adapter | None = None,
    *,
    scale: float = 1.0,
    dropout: float = 0.0,
    dropout_key: jax.Array | None = None,
) -> jax.Array:
    """Compute x W + scale * drop(x) A B in the dtype of x.

        x [..., in]   weight [in, out]   a [in, r]   b [r, out]   ->   [..., out]

    Dropout applies to the inputs of the adapter only, and only if a key is given (training). Every matrix
    needs its own key.
    """
    base = matmul(x, weight)
    if adapter is None:
        return base
    if dropout_key is not None and dropout > 0:
        is_kept = jax.random.bernoulli(dropout_key, 1 - dropout, x.shape)
        x = jnp.where(is_kept, x / (1 - dropout), jnp.zeros((), x.dtype))
    return base + matmul(matmul(x, adapter["a"]) * scale, adapter["b"])


@jax.custom_vjp
def matmul(x: jax.Array, weight: jax.Array | QuantizedMatrix) -> jax.Array:
    """Multiply x [..., in] by weight [in, out] in the dtype of x; gradients for x and for a float weight.

    The backward pass keeps the stored weight. By default, JAX would keep the cast or dequantised copy of
    every layer: a second model in memory. The gradient of the weight is summed in float32 and rounded once,
    to the stored dtype.
    """
    return x @ plain_matrix(weight, x.dtype)


def _matmul_forward(x: jax.Array, weight: Any) -> tuple[jax.Array, tuple[jax.Array, Any]]:
    # Not a call of `matmul`: a remat policy could not see the product inside it.
    return x @ plain_matrix(weight, x.dtype), (x, weight)


def _matmul_backward(saved: tuple[jax.Array, Any], grad: jax.Array) -> tuple[jax.Array, jax.Array | None]:
    x, weight = saved
    # Behind an optimization barrier: in unrolled layers, the compiler would otherwise reuse the conversion of
    # the forward pass, and keep its result until the backward pass.
    is_plain = isinstance(weight, jax.Array) and weight.dtype == grad.dtype
    plain = weight if is_plain else plain_matrix(jax.lax.optimization_barrier(weight), grad.dtype)
    x_grad = grad @ plain.T
    if isinstance(weight, QuantizedMatrix):
        return x_grad, None
    weight_grad = jnp.einsum("...i,...o->io", x, grad, preferred_element_type=jnp.float32)
    return x_grad, weight_grad.astype(weight.dtype)


matmul.defvjp(_matmul_forward, _matmul_backward)

Adapters: TypeAlias = dict[str, dict[str, Adapter]]


def adapter_scale(lora: LoraSection) -> float:
    """The factor of the adapters' output."""
    return lora.alpha / lora.rank


def init_adapters(architecture: Architecture, lora: LoraSection, key: Array) -> Adapters:
    """Initial adapters, which change nothing: A is uniform within ±1 / sqrt(in), B is zero.

    Every target has its own key, derived from its name, so adding a target leaves the others unchanged.
    """
    layers: dict[str, Adapter] = {}
    for target in lora.targets:
        target_key = jax.random.fold_in(key, zlib.crc32(target.encode()))
        num_inputs, num_outputs = architecture.matrix_shapes[target]
        bound = 1 / math.sqrt(num_inputs)
        a_shape = (architecture.num_layers, num_inputs, lora.rank)
        layers[target] = {
            "a": jax.random.uniform(target_key, a_shape, jnp.float32, -bound, bound),
            "b": jnp.zeros((architecture.num_layers, lora.rank, num_outputs), jnp.float32),
        }
    return {"layers": layers}


def abstract_adapters(architecture: Architecture, lora: LoraSection) -> Adapters:
    """Shapes and formats of the adapters; nothing is allocated."""
    adapters: Adapters = jax.eval_shape(lambda: init_adapters(architecture, lora, jax.random.key(0)))
    return adapters


def merge_matrix(weight: Array | QuantizedMatrix, adapter: Adapter, scale: float, dtype: DTypeLike) -> Array:
    """One matrix [in, out] with its adapter added."""
    update = jnp.matmul(adapter["a"], adapter["b"], precision=jax.lax.Precision.HIGHEST)
    return (plain_matrix(weight, jnp.float32) + scale * update).astype(dtype)
