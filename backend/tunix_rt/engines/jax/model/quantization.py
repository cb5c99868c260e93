"""4- and 8-bit frozen matrices.

Every `block_size` consecutive inputs of one output share a scale, as in bitsandbytes:

    weight  [L, in, out]                     codes                           scales (float32)
    nf4     4 bits a weight, two in a byte   uint8 [L, in / 2, out]          [L, in / block_size, out]
    int8    8 bits a weight                  int8  [L, in, out]              [L, in / block_size, out]

Inputs stay on axis -2 and outputs on axis -1 of both arrays, so the PartitionSpec of the weight serves its
codes and its scales. A mesh axis that divides the scales' axis keeps whole blocks on one device.
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
    """A matrix, or a stack of them, that `dequantize` turns back into numbers."""

    codes: jax.Array
    scales: jax.Array
    format: QuantizationFormat
    block_size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weight it stands for: [..., in, out]."""
        *leading, num_blocks, num_outputs = self.scales.shape
        return (*leading, num_blocks * self.block_size, num_outputs)


def quantize(params: Params, section: QuantizationSection) -> Params:
    """The same tree with the matrices of the layers quantised, one after the other; the rest is shared.

    Raises:
        InvalidInputError: The block size does not divide the inputs of a matrix.
    """
    layers = {name: quantize_tensor(name, weight, section) for name, weight in params["layers"].items()}
    return params | {"layers": layers}


def quantize_tensor(
    name: str, weight: jax.Array | QuantizedMatrix, section: QuantizationSection
) -> jax.Array | QuantizedMatrix:
    """A tensor of the model as QLoRA keeps it: matrices of the layers [L, in, out] quantised, others as is.

    Loading may call this for every tensor that it has read: then at most one of them exists unquantised.
    """
    if isinstance(weight, QuantizedMatrix) or weight.ndim != 3:
        return weight
    return quantize_matrix(weight, section, name)


def abstract_quantized(params: Params, section: QuantizationSection) -> Params:
    """Shapes and formats of what `quantize` makes; nothing is allocated."""
    quantized: Params = jax.eval_shape(lambda weights: quantize(weights, section), params)
    return quantized


def quantize_matrix(weight: jax.Array, section: QuantizationSection, name: str) -> QuantizedMatrix:
    """Codes and scales of a stack of matrices [L, in, out]; `name` is for the error.

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
    """Layer by layer: a float32 copy of more than one layer never exists."""

    def quantize_layer(layer: jax.Array) -> tuple[jax.Array, jax.Array]:
        num_inputs, num_outputs = layer.shape
        blocks = layer.astype(jnp.float32).reshape(num_inputs // block_size, block_size, num_outputs)
        largest = jnp.max(jnp.abs(blocks), axis=-2)
        scales = largest if format == "nf4" else largest / INT8_MAX
        ratios = blocks / jnp.where(scales > 0, scales, 1.0)[:, None, :]
        codes = _nf4_codes(ratios) if format == "nf4" else jnp.round(ratios).astype(jnp.int8)
        return codes.reshape(-1, num_outputs), scales

    codes, scales = jax.lax.map(quantize_layer, weight)
    return codes, scales


def _nf4_codes(ratios: jax.Array) -> jax.Array:
    """[..., block_size, out] within ±1 to [..., block_size / 2, out] bytes: the nearest level of each."""
    midpoints = [(low + high) / 2 for low, high in itertools.pairwise(NF4_LEVELS)]
    codes = sum(((ratios > midpoint).astype(jnp.uint8) for midpoint in midpoints), jnp.uint8(0))
    low, high = jnp.split(codes, 2, axis=-2)
    return low | (high << 4)


def plain_matrix(weight: jax.Array | QuantizedMatrix, dtype: DTypeLike) -> jax.Array:
    """The numbers of a matrix, however it is stored."""
    return dequantize(weight, dtype) if isinstance(weight, QuantizedMatrix) else weight.astype(dtype)


def dequantize(matrix: QuantizedMatrix, dtype: DTypeLike) -> jax.Array:
    """The numbers that the codes stand for, [..., in, out]."""
    *leading, num_blocks, num_outputs = matrix.scales.shape
    blocked_codes = matrix.codes.reshape(*leading, num_blocks, -1, num_outputs)
    levels = _nf4_levels(blocked_codes) if matrix.format == "nf4" else blocked_codes.astype(jnp.float32)
    return (levels * matrix.scales[..., None, :]).reshape(matrix.shape).astype(dtype)


def _nf4_levels(packed: jax.Array) -> jax.Array:
    """[..., block_size / 2, out] bytes to [..., block_size, out] levels.

    A byte holds weight i of its block in the low half and weight i + block_size / 2 in the high half, so that
    unpacking puts two tiles side by side and interleaves nothing.
    """
    codes = jnp.concatenate([packed & 15, packed >> 4], axis=-2)
    return _select_level(codes, NF4_LEVELS)


def _select_level(codes: jax.Array, levels: tuple[float, ...]) -> jax.Array:
    """levels[codes] as a tree of selects: a gather from a table is slow on a TPU."""
    if len(levels) == 1:
        return jnp.full(codes.shape, levels[0], jnp.float32)
    half = len(levels) // 2
    low, high = _select_level(codes, levels[:half]), _select_level(codes, levels[half:])
    return jnp.where((codes & half) != 0, high, low)
