"""One matrix product of the decoder: a weight in any storage, and the adapter beside it."""

from typing import Any, TypedDict

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from tunix_rt.engines.jax.quantization import QuantizedMatrix, plain_matrix


class Adapter(TypedDict):
    """The low-rank pair beside one matrix."""

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

    Dropout zeroes inputs of the adapter only, and only when a key is given (training); give every matrix a
    key of its own.
    """
    base = matmul(x, weight)
    if adapter is None:
        return base
    if dropout_key is not None and dropout > 0:
        x = _drop(x, dropout, dropout_key)
    return base + matmul(matmul(x, adapter["a"]) * scale, adapter["b"])


def _drop(x: jax.Array, rate: float, key: jax.Array) -> jax.Array:
    """Zero a share of the entries and scale up the rest, so that the mean stays."""
    kept = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(kept, x / (1 - rate), jnp.zeros((), x.dtype))


@jax.custom_vjp
def matmul(x: jax.Array, weight: jax.Array | QuantizedMatrix) -> jax.Array:
    """Multiply x [..., in] by weight [in, out] in the dtype of x; gradients for x and for a float weight.

    The backward pass keeps the weight as it is stored. Left to itself, JAX would keep the cast or dequantised
    copy of every layer for it: a second model in memory. The weight's gradient is summed in float32 and
    rounded once, to the dtype that the weight is stored in.
    """
    return x @ plain_matrix(weight, x.dtype)


def _matmul_forward(x: jax.Array, weight: Any) -> tuple[jax.Array, tuple[jax.Array, Any]]:
    # Not a call of `matmul`: a remat policy would not see the product inside it, and could not keep it.
    return x @ plain_matrix(weight, x.dtype), (x, weight)


def _matmul_backward(saved: tuple[jax.Array, Any], grad: jax.Array) -> tuple[jax.Array, jax.Array | None]:
    x, weight = saved
    x_grad = grad @ _converted_again(weight, grad.dtype).T
    if isinstance(weight, QuantizedMatrix):
        return x_grad, None
    weight_grad = jnp.einsum("...i,...o->io", x, grad, preferred_element_type=jnp.float32)
    return x_grad, weight_grad.astype(weight.dtype)


def _converted_again(weight: jax.Array | QuantizedMatrix, dtype: DTypeLike) -> jax.Array:
    """The numbers of a weight, behind a barrier.

    Where layers are unrolled, the compiler would otherwise find that the forward pass has converted the same
    weight, and keep the result until here.
    """
    if isinstance(weight, jax.Array) and weight.dtype == dtype:
        return weight
    return plain_matrix(jax.lax.optimization_barrier(weight), dtype)


matmul.defvjp(_matmul_forward, _matmul_backward)
