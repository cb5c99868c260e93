"""Frozen matrices of the layers in 4 or 8 bits, for QLoRA.

Every `block_size` consecutive inputs of one output share a scale, as in bitsandbytes:

    weight  [L, in, out]                     codes                           scales (float32)
    nf4     4 bits a weight, two in a byte   uint8 [L, in / 2, out]          [L, in / block_size, out]
    int8    8 bits a weight                  int8  [L, in, out]              [L, in / block_size, out]

Inputs stay on axis -2 and outputs on axis -1 of both arrays, so the PartitionSpec of the weight serves its
codes and its scales. A mesh axis that divides the scales' axis keeps whole blocks on one device.
"""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from tunix_rt.config.recipe import QuantizationFormat

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


def dequantize(matrix: QuantizedMatrix, dtype: Any) -> jax.Array:
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
    return jnp.where(codes & half, high, low)
