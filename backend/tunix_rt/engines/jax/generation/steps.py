"""Compiled prefill and decode programs; sampling.

A finished row idles until it gets the next prompt. Shapes never change, so both programs are compiled once,
and the tokens of a row do not depend on the other rows of the batch.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tunix_rt.engines.generation.scheduler import IDLE, NOT_FINITE
from tunix_rt.engines.jax.generation.decoder import (
    Cache,
    Decoder,
    Weights,
    empty_cache,
    next_logits,
    prefill_cache,
    slot_rotations,
)
from tunix_rt.engines.jax.model.decoder import Rotation
from tunix_rt.engines.jax.sharding import ROW_AXES, replicated
from tunix_rt.engines.jax.training.state import matrix_precision

_ONE_AS_BITS = 0x3F800000
_NUM_HALVINGS = 31


@dataclass(frozen=True)
class SamplingParams:
    """The decoding options that one step needs. Hashable: a static argument of jit."""

    temperature: float
    top_p: float


def sample_tokens(sampling: SamplingParams, logits: Array, keys: Array, positions: Array) -> Array:
    """The next token of every row, int32 [B].

    Args:
        sampling: Greedy, or temperature and top-p.
        logits: float32 [B, V].
        keys: Keys from `noise_key`, uint32 [B, 2].
        positions: Positions of the new tokens in their rows [B]; each position has its own noise.
    """
    if sampling.temperature == 0:
        return _fast_argmax(logits)
    # The largest logit is 0 before the division, so no temperature overflows the format.
    scaled = (logits - logits.max(axis=-1, keepdims=True)) / sampling.temperature
    if sampling.top_p < 1:
        scaled = jnp.where(is_in_nucleus(jax.nn.softmax(scaled), sampling.top_p), scaled, -jnp.inf)

    def row_noise(key: Array, position: Array) -> Array:
        position_key = jax.random.fold_in(jax.random.wrap_key_data(key), position)
        return jax.random.gumbel(position_key, logits.shape[-1:])

    # The argmax of log-probabilities plus Gumbel noise is a sample of the distribution.
    return _fast_argmax(scaled + jax.vmap(row_noise)(keys, positions))


def is_in_nucleus(probabilities: Array, top_p: float) -> Array:
    """Mark the fewest most likely tokens that together have `top_p`, and those as likely as the last: [B, V].

    Instead of sorting, a binary search finds the smallest probability in the nucleus. Non-negative floats are
    ordered like their bits, so 31 halvings leave one candidate.

    Example:
        [0.5, 0.3, 0.1, 0.1] with top_p 0.7 -> [True, True, False, False]
    """
    bits = jax.lax.bitcast_convert_type(probabilities, jnp.int32)

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = low + (high - low) // 2
        mass = jnp.where(bits >= middle, probabilities, 0).sum(axis=-1, keepdims=True)
        return jnp.where(mass >= top_p, middle, low), jnp.where(mass >= top_p, high, middle)

    lowest = jnp.zeros((probabilities.shape[0], 1), jnp.int32)
    least, _ = jax.lax.fori_loop(0, _NUM_HALVINGS, halve, (lowest, lowest + _ONE_AS_BITS + 1))
    is_in: Array = bits >= least
    return is_in


def _fast_argmax(scores: Array) -> Array:
    """Argmax as two plain reductions, six times as fast on CPU: [B, V] -> int32 [B]."""
    num_tokens = scores.shape[-1]
    is_largest = scores == scores.max(axis=-1, keepdims=True)
    return jnp.where(is_largest, jnp.arange(num_tokens, dtype=jnp.int32), num_tokens).min(axis=-1)


class Rows(NamedTuple):
    """A batch on the device; arrays are [B] except for the cache, the keys and the rotary angles."""

    cache: Cache
    tokens: Array
    """The newest token of each row; its keys and values are not in the cache yet."""
    positions: Array
    """Position of that token."""
    lengths: Array
    """Maximum number of tokens of the row."""
    is_active: Array
    keys: Array
    """Sampling keys, uint32 [B, 2]."""
    rotations: Rotation
    """Rotary angles of every slot, shared by all rows. Stored, because a CPU would recompute the sines in
    every layer."""


class DevicePrefillBatch(NamedTuple):
    """`PrefillBatch` on the device, padded to a fixed number of prompts."""

    prompts: Array
    """Tokens [R, T]."""
    rows: Array
    """The row of each prompt; a number beyond the batch marks padding."""
    tokens: Array
    positions: Array
    lengths: Array
    keys: Array


@partial(jax.jit, static_argnames=("decoder", "mesh", "batch_size", "num_slots"))
def empty_rows(decoder: Decoder, mesh: Mesh, batch_size: int, num_slots: int) -> Rows:
    """A batch with no active rows, sharded over the devices."""
    cache = empty_cache(decoder, batch_size, num_slots)
    numbers, keys = jnp.zeros(batch_size, jnp.int32), jnp.zeros((batch_size, 2), jnp.uint32)
    rotations = slot_rotations(decoder, num_slots)
    return _shard_rows(decoder, mesh, Rows(cache, numbers, numbers, numbers, numbers > 0, keys, rotations))


@partial(jax.jit, static_argnames=("decoder", "mesh"), donate_argnames="rows")
def prefill(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    new: DevicePrefillBatch,
    num_new: Array | None = None,
) -> Rows:
    """Prefill free rows with new prompts; given `num_new`, with that many of them, one after the other.

    One after the other is for CPUs: one prompt keeps a core busy, and a padding prompt would cost as much as
    a real one.
    """
    if num_new is None:
        new = DevicePrefillBatch(*jax.lax.with_sharding_constraint(tuple(new), _row_sharding(mesh)))
        return _shard_rows(decoder, mesh, _prefill(decoder, weights, rows, new))

    def prefill_next(number: Array, rows: Rows) -> Rows:
        one = DevicePrefillBatch(*(jax.lax.dynamic_slice_in_dim(numbers, number, 1) for numbers in new))
        return _prefill(decoder, weights, rows, one)

    return _shard_rows(decoder, mesh, jax.lax.fori_loop(0, num_new, prefill_next, rows))


@partial(jax.jit, static_argnames=("decoder", "mesh", "sampling", "num_steps"), donate_argnames="rows")
def decode(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    stop_ids: Array,
    num_awaited: Array | None,
    *,
    sampling: SamplingParams,
    num_steps: int,
) -> tuple[Rows, Array]:
    """Decode `num_steps` tokens of every row, int32 [num_steps, B]; IDLE or NOT_FINITE if there is none.

    Given `num_awaited`, decode until that many rows are free; steps that did not run hold IDLE in all rows.
    For CPUs: any other device would have to report to its host before every token whether to continue.
    """
    decode_rows = partial(_decode_step, decoder, weights, stop_ids, sampling)
    if num_awaited is None:
        rows, decoded = jax.lax.scan(lambda rows, _: decode_rows(rows), rows, length=num_steps)
        return _shard_rows(decoder, mesh, rows), decoded

    def should_continue(state: tuple[Array, Rows, Array]) -> Array:
        step, rows, _ = state
        return (step < num_steps) & (jnp.sum(~rows.is_active) < num_awaited)

    def decode_one(state: tuple[Array, Rows, Array]) -> tuple[Array, Rows, Array]:
        step, rows, decoded = state
        rows, tokens = decode_rows(rows)
        return step + 1, rows, jax.lax.dynamic_update_index_in_dim(decoded, tokens, step, axis=0)

    idle = jnp.full((num_steps, len(rows.tokens)), IDLE, jnp.int32)
    _, rows, decoded = jax.lax.while_loop(should_continue, decode_one, (jnp.int32(0), rows, idle))
    return _shard_rows(decoder, mesh, rows), decoded


def _prefill(decoder: Decoder, weights: Weights, rows: Rows, new: DevicePrefillBatch) -> Rows:
    with matrix_precision(decoder.dtype):
        cache = prefill_cache(decoder, weights, rows.cache, new.prompts, new.rows, rows.rotations)
    started = {
        name: getattr(rows, name).at[new.rows].set(getattr(new, name), mode="drop")
        for name in ("tokens", "positions", "lengths", "keys")
    }
    is_active = rows.is_active.at[new.rows].set(True, mode="drop")
    return rows._replace(cache=cache, is_active=is_active, **started)


def _decode_step(
    decoder: Decoder, weights: Weights, stop_ids: Array, sampling: SamplingParams, rows: Rows
) -> tuple[Rows, Array]:
    with matrix_precision(decoder.dtype):
        logits, cache = next_logits(decoder, weights, rows.cache, rows.tokens, rows.positions, rows.rotations)
    positions = rows.positions + 1
    sampled = sample_tokens(sampling, logits, rows.keys, positions)
    is_finite = jnp.isfinite(logits.max(axis=-1)) & jnp.isfinite(logits.min(axis=-1))
    is_active = rows.is_active & is_finite & ~jnp.isin(sampled, stop_ids) & (positions + 1 < rows.lengths)
    tokens = jnp.where(rows.is_active, jnp.where(is_finite, sampled, NOT_FINITE), IDLE)
    after = rows._replace(
        cache=cache,
        tokens=jnp.where(is_active, sampled, rows.tokens),
        positions=jnp.where(is_active, positions, rows.positions),
        is_active=is_active,
    )
    return after, tokens


def _shard_rows(decoder: Decoder, mesh: Mesh, rows: Rows) -> Rows:
    """The batch with its rows sharded over the devices."""
    by_row = _row_sharding(mesh)
    cache_sharding = by_row if decoder.unrolls_layers else NamedSharding(mesh, PartitionSpec(None, ROW_AXES))
    shardings: Any = (cache_sharding, *[by_row] * (len(rows) - 2), replicated(mesh))
    return Rows(*jax.lax.with_sharding_constraint(tuple(rows), shardings))


def _row_sharding(mesh: Mesh) -> NamedSharding:
    """Sharding of arrays whose first axis is the rows of the batch."""
    return NamedSharding(mesh, PartitionSpec(ROW_AXES))
