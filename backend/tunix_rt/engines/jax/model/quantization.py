"""4- and 8-bit frozen matrices.

Every `block_size` consecutive inputs of one output share a scale, as in bitsandbytes:

    weight  [L, in, out]                     codes                           scales (float32)
    nf4     4 bits a weight, two in a byte   uint8 [L, in / 2, out]          [L, in / block_size, out]
    int8    8 bits a weight                  int8  [L, in, out]              [L, in / block_size, out]

Inputs stay on axis -2 and outputs on axis -1 of both arrays, so that the PartitionSpec of the weight also
fits its codes and scales. A mesh axis that divides the axis of the scales keeps whole blocks on one device.
"""

import dataclasses
import itertools
from functools import partial

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.planning.limits import check_block
from tunix_rt.recipes.types import QuantizationFormat, QuantizationSection

# The levels of bitsandbytes: quantiles of a normal distribution, with an exact zero and both ends at ±1.
NF4_LEVELS = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
INT8_MAX = 127


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["codes", "scales"],
    meta_fields=["format", "block_size"],
)
@dataclasses.dataclass(frozen=True)
class QuantizedMatrix:
    """A quantised matrix or a stack of them; `dequantize` restores the values."""

    codes: jax.Array
    scales: jax.Array
    format: QuantizationFormat
    block_size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dequantised weight: [..., in, out]."""
        *leading, num_blocks, num_outputs = self.scales.shape
        return (*leading, num_blocks * self.block_size, num_outputs)


def quantize(params: Params, section: QuantizationSection) -> Params:
    """The same tree with the matrices of the layers quantised one by one; other leaves are shared.

    Raises:
        InvalidInputError: The block size does not divide the inputs of a matrix.
    """
    layers = {name: quantize_tensor(name, weight, section) for name, weight in params["layers"].items()}
    return params | {"layers": layers}


def quantize_tensor(
    name: str, weight: jax.Array | QuantizedMatrix, section: QuantizationSection
) -> jax.Array | QuantizedMatrix:
    """Quantise a tensor if it is a matrix of the layers [L, in, out]; return others unchanged.

    Loading calls this for every tensor that it has read, so that at most one exists unquantised.
    """
    if isinstance(weight, QuantizedMatrix) or weight.ndim != 3:
        return weight
    return quantize_matrix(weight, section, name)


def abstract_quantized(params: Params, section: QuantizationSection) -> Params:
    """Shapes and formats of the result of `quantize`; nothing is allocated."""
    quantized: Params = jax.eval_shape(lambda weights: quantize(weights, section), params)
    return quantized


def quantize_matrix(weight: jax.Array, section: QuantizationSection, name: str) -> QuantizedMatrix:
    """Quantise a stack of matrices [L, in, out]; `name` appears in the error.

    Raises:
        InvalidInputError: The block size does not divide the inputs.
    """
    check_block(section, weight.shape[-2], name)
    codes, scales = _codes_and_scales(weight, section.format, section.block_size)
    return QuantizedMatrix(codes, scales, section.format, section.block_size)


@partial(jax.jit, static_argnames=("format", "block_size"))
def _codes_and_scales(
    weight: jax.Array, format: QuantizationFormat, block_size: int
) -> tuple[jax.Array, jax.Array]:
    """Layer by layer, so that a float32 copy of only one layer exists at a time."""

    def quantize_layer(layer: jax.Array) -> tuple[jax.Array, jax.Array]:
        num_inputs, num_outputs = layer.shape
        blocks = layer.astype(jnp.float32).reshape(num_inputs // block_size, block_size, num_outputs)
        largest = jnp.max(jnp.abs(blocks), axis=-2)
        scales = largest if format == "nf4" else largest / INT8_MAX
        ratios = blocks / jnp.where(scales > 0, scales, 1.0)[:, None, :]
        codes = _nf4_codes(ratios) if format == "nf4" else jnp.round(ratios).astype(jnp.int8)
        return codes.reshape(-1, num_outputs), scales

    mapped: tuple[jax.Array, jax.Array] = jax.lax.map(quantize_layer, weight)
    return mapped


def _nf4_codes(ratios: jax.Array) -> jax.Array:
    """The nearest level of each ratio in ±1: [..., block_size, out] -> bytes [..., block_size / 2, out]."""
    midpoints = [(low + high) / 2 for low, high in itertools.pairwise(NF4_LEVELS)]
    codes = sum(((ratios > midpoint).astype(jnp.uint8) for midpoint in midpoints), jnp.uint8(0))
    low, high = jnp.split(codes, 2, axis=-2)
    return low | (high << 4)


def plain_matrix(weight: jax.Array | QuantizedMatrix, dtype: DTypeLike) -> jax.Array:
    """The values of a matrix, quantised or not."""
    return dequantize(weight, dtype) if isinstance(weight, QuantizedMatrix) else weight.astype(dtype)


def dequantize(matrix: QuantizedMatrix, dtype: DTypeLike) -> jax.Array:
    """The values of a quantised matrix, [..., in, out]."""
    *leading, num_blocks, num_outputs = matrix.scales.shape
    blocked_codes = matrix.codes.reshape(*leading, num_blocks, -1, num_outputs)
    if matrix.format == "int8":
        levels = blocked_codes.astype(jnp.float32)
    else:
        # A byte holds weight i of its block in the low half and weight i + block_size / 2 in the high half,
        # so that unpacking concatenates two tiles instead of interleaving them.
        codes = jnp.concatenate([blocked_codes & 15, blocked_codes >> 4], axis=-2)
        levels = _select_level(codes, NF4_LEVELS)
    return (levels * matrix.scales[..., None, :]).reshape(matrix.shape).astype(dtype)


def _select_level(codes: jax.Array, levels: tuple[float, ...]) -> jax.Array:
    """levels[codes] as a tree of selects: a table gather is slow on TPU."""
    if len(levels) == 1:
        return jnp.full(codes.shape, levels[0], jnp.float32)
    half = len(levels) // 2
    low, high = _select_level(codes, levels[:half]), _select_level(codes, levels[half:])
    return jnp.where((codes & half) != 0, high, low)
