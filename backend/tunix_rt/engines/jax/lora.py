"""Low-rank adapters, as PEFT makes them: W + (alpha / rank) A B, with B = 0 at the start.

Float32, one pair for every target, stacked over the layers like the weights:

    {"layers": {"q": {"a": [L, in, rank], "b": [L, rank, out]}, ...}}
"""

import math
import zlib
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.linear import Adapter
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.quantization import QuantizedMatrix, plain_matrix
from tunix_rt.recipes.types import LoraSection

Adapters: TypeAlias = dict[str, dict[str, Adapter]]


def adapter_scale(lora: LoraSection) -> float:
    """What the adapters' output is multiplied by."""
    return lora.alpha / lora.rank


def init_adapters(architecture: Architecture, lora: LoraSection, key: Array) -> Adapters:
    """Adapters that change nothing yet: A is uniform within ±1 / sqrt(in), B is zero.

    Every target has a key of its own, made from its name: adding a target leaves the others as they were.
    """
    layers: dict[str, Adapter] = {}
    for target in lora.targets:
        target_key = jax.random.fold_in(key, zlib.crc32(target.encode()))
        shape = architecture.matrix_shapes[target]
        layers[target] = _init_adapter(shape, architecture.num_layers, lora.rank, target_key)
    return {"layers": layers}


def abstract_adapters(architecture: Architecture, lora: LoraSection) -> Adapters:
    """Shapes and formats of the adapters; nothing is allocated."""
    adapters: Adapters = jax.eval_shape(lambda: init_adapters(architecture, lora, jax.random.key(0)))
    return adapters


def merge(params: Params, adapters: Adapters, scale: float) -> Params:
    """The whole model with its adapters added: summed in float32, rounded once to the embedding's dtype.

    Quantised matrices come out as plain ones.
    """
    dtype = params["embedding"].dtype
    layers = {
        name: _merged(weight, adapters["layers"].get(name), scale, dtype)
        for name, weight in params["layers"].items()
    }
    return params | {"layers": layers}


def merge_matrix(weight: Array | QuantizedMatrix, adapter: Adapter, scale: float, dtype: DTypeLike) -> Array:
    """One matrix [in, out] with its adapter added."""
    update = jnp.matmul(adapter["a"], adapter["b"], precision=jax.lax.Precision.HIGHEST)
    return (plain_matrix(weight, jnp.float32) + scale * update).astype(dtype)


def _merged(
    weights: Array | QuantizedMatrix, adapters: Adapter | None, scale: float, dtype: DTypeLike
) -> Array:
    """A stack of matrices, layer by layer: a float32 copy of more than one layer never exists."""
    if adapters is None:
        return plain_matrix(weights, dtype)

    def merge_layer(layer: tuple[Array | QuantizedMatrix, Adapter]) -> Array:
        return merge_matrix(*layer, scale, dtype)

    merged: Array = jax.lax.map(merge_layer, (weights, adapters))
    return merged


def _init_adapter(shape: tuple[int, int], num_layers: int, rank: int, key: Array) -> Adapter:
    num_inputs, num_outputs = shape
    bound = 1 / math.sqrt(num_inputs)
    return {
        "a": jax.random.uniform(key, (num_layers, num_inputs, rank), jnp.float32, -bound, bound),
        "b": jnp.zeros((num_layers, rank, num_outputs), jnp.float32),
    }
