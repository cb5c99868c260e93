"""Compiled prefill and decode programs; sampling.

A row that has ended idles until it is given the next prompt. Shapes never change, so both programs are
compiled once, and what a row writes does not depend on its neighbours.
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
    read_prompts,
    rotations_of_slots,
)
from tunix_rt.engines.jax.model.decoder import Rotation
from tunix_rt.engines.jax.sharding import ROW_AXES
from tunix_rt.engines.jax.training.state import matrix_precision
from tunix_rt.engines.types import Decoding

_ONE_AS_BITS = 0x3F800000
_NUM_HALVINGS = 31


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are chosen. Hashable: a static argument of jit."""

    temperature: float
    top_p: float

    @classmethod
    def of(cls, decoding: Decoding) -> "SamplingParams":
        """The part of a decoding that one step needs."""
        return cls(decoding.temperature, decoding.top_p)


def choose_tokens(choice: SamplingParams, logits: Array, keys: Array, positions: Array) -> Array:
    """The next token of every row, int32 [B].

    Args:
        choice: Greedy, or temperature and top-p.
        logits: float32 [B, V].
        keys: What `noise_key` gives, uint32 [B, 2].
        positions: Places of the tokens in their rows [B]: each has noise of its own.
    """
    if choice.temperature == 0:
        return _first_largest(logits)
    # The best is 0 before the division, so that no temperature is too low for the format.
    scaled = (logits - logits.max(axis=-1, keepdims=True)) / choice.temperature
    if choice.top_p < 1:
        scaled = jnp.where(is_in_nucleus(jax.nn.softmax(scaled), choice.top_p), scaled, -jnp.inf)
    noise = jax.vmap(_noise, (0, 0, None))(keys, positions, logits.shape[-1])
    return _first_largest(scaled + noise)


def are_finite(logits: Array) -> Array:
    """Whether every logit of a row is a finite number: [B, V] -> bool [B]."""
    return jnp.isfinite(logits.max(axis=-1)) & jnp.isfinite(logits.min(axis=-1))


def is_in_nucleus(probabilities: Array, top_p: float) -> Array:
    """Mark the fewest most likely tokens that together have `top_p`, and those as likely as the last: [B, V].

    No sorting: the least probability that belongs is found by halving. Floats that are not negative have the
    order of their bits, so 31 halvings leave one candidate.

    Example:
        [0.5, 0.3, 0.1, 0.1] with top_p 0.7 -> [True, True, False, False]
    """
    bits = jax.lax.bitcast_convert_type(probabilities, jnp.int32)

    def halve(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        enough, too_high = bounds
        middle = enough + (too_high - enough) // 2
        mass = jnp.where(bits >= middle, probabilities, 0).sum(axis=-1, keepdims=True)
        return jnp.where(mass >= top_p, middle, enough), jnp.where(mass >= top_p, too_high, middle)

    lowest = jnp.zeros((probabilities.shape[0], 1), jnp.int32)
    least, _ = jax.lax.fori_loop(0, _NUM_HALVINGS, halve, (lowest, lowest + _ONE_AS_BITS + 1))
    is_in: Array = bits >= least
    return is_in


def _noise(key: Array, position: Array, num_tokens: int) -> Array:
    """Gumbel noise [V]: the largest of log-probability plus it is a draw from the distribution."""
    return jax.random.gumbel(jax.random.fold_in(jax.random.wrap_key_data(key), position), (num_tokens,))


def _first_largest(scores: Array) -> Array:
    """As argmax, in two plain reductions: six times as fast on a CPU. [B, V] -> int32 [B]."""
    num_tokens = scores.shape[-1]
    is_largest = scores == scores.max(axis=-1, keepdims=True)
    return jnp.where(is_largest, jnp.arange(num_tokens, dtype=jnp.int32), num_tokens).min(axis=-1)


class Rows(NamedTuple):
    """A batch on the device, [B] each beside the cache and the angles."""

    cache: Cache
    tokens: Array
    """The newest token of each row; its keys and values are not in the cache yet."""
    positions: Array
    """Where that token stands."""
    lengths: Array
    """Tokens that the row may have in all."""
    is_writing: Array
    keys: Array
    """Of the noise, uint32 [B, 2]."""
    rotations: Rotation
    """Of every slot, the same for all rows. Kept: a CPU would compute the sines again in every layer."""


class DevicePrefillBatch(NamedTuple):
    """`PrefillBatch` on the device, filled up with rows that nobody takes."""

    prompts: Array
    """Tokens [R, T]."""
    rows: Array
    """The row that each takes; a number beyond the batch: nobody."""
    tokens: Array
    positions: Array
    lengths: Array
    keys: Array


@partial(jax.jit, static_argnames=("decoder", "mesh", "batch_size", "num_slots"))
def empty_rows(decoder: Decoder, mesh: Mesh, batch_size: int, num_slots: int) -> Rows:
    """A batch in which nobody writes, split over the devices."""
    cache = empty_cache(
        decoder.architecture,
        batch_size,
        num_slots,
        decoder.dtype,
        is_list=decoder.unrolls_layers,
        has_transposed_keys=decoder.has_transposed_keys,
    )
    numbers, keys = jnp.zeros(batch_size, jnp.int32), jnp.zeros((batch_size, 2), jnp.uint32)
    rotations = rotations_of_slots(decoder, num_slots)
    return _by_row(decoder, mesh, Rows(cache, numbers, numbers, numbers, numbers > 0, keys, rotations))


@partial(jax.jit, static_argnames=("decoder", "mesh"), donate_argnames="rows")
def prefill(decoder: Decoder, mesh: Mesh, weights: Weights, rows: Rows, new: DevicePrefillBatch) -> Rows:
    """Give prompts to rows that are free."""
    new = DevicePrefillBatch(*jax.lax.with_sharding_constraint(tuple(new), _places(mesh)))
    return _by_row(decoder, mesh, _begin(decoder, weights, rows, new))


@partial(jax.jit, static_argnames=("decoder", "mesh"), donate_argnames="rows")
def prefill_sequentially(
    decoder: Decoder, mesh: Mesh, weights: Weights, rows: Rows, new: DevicePrefillBatch, num_new: Array
) -> Rows:
    """The same with the first `num_new` prompts, one after the other.

    For CPUs: one prompt keeps a core busy, and one that only fills up the program would cost as much.
    """

    def begin_next(number: Array, rows: Rows) -> Rows:
        one = DevicePrefillBatch(*(jax.lax.dynamic_slice_in_dim(numbers, number, 1) for numbers in new))
        return _begin(decoder, weights, rows, one)

    return _by_row(decoder, mesh, jax.lax.fori_loop(0, num_new, begin_next, rows))


@partial(jax.jit, static_argnames=("decoder", "mesh", "choice", "num_steps"), donate_argnames="rows")
def decode(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    stop_ids: Array,
    *,
    choice: SamplingParams,
    num_steps: int,
) -> tuple[Rows, Array]:
    """Some more tokens of every row, int32 [num_steps, B], with IDLE or NOT_FINITE where there is none."""

    def write_one(rows: Rows, _: None) -> tuple[Rows, Array]:
        return _write_one(decoder, weights, rows, stop_ids, choice)

    rows, written = jax.lax.scan(write_one, rows, length=num_steps)
    return _by_row(decoder, mesh, rows), written


@partial(jax.jit, static_argnames=("decoder", "mesh", "choice", "num_steps"), donate_argnames="rows")
def decode_until_free(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    stop_ids: Array,
    num_awaited: Array,
    *,
    choice: SamplingParams,
    num_steps: int,
) -> tuple[Rows, Array]:
    """The same, until so many rows are free; IDLE in all rows for tokens that are not made any more.

    For CPUs: before every token, another device would have to tell its host whether to go on.
    """

    def goes_on(state: tuple[Array, Rows, Array]) -> Array:
        step, rows, _ = state
        return (step < num_steps) & (jnp.sum(~rows.is_writing) < num_awaited)

    def write_one(state: tuple[Array, Rows, Array]) -> tuple[Array, Rows, Array]:
        step, rows, written = state
        rows, tokens = _write_one(decoder, weights, rows, stop_ids, choice)
        return step + 1, rows, jax.lax.dynamic_update_index_in_dim(written, tokens, step, axis=0)

    nothing = jnp.full((num_steps, len(rows.tokens)), IDLE, jnp.int32)
    _, rows, written = jax.lax.while_loop(goes_on, write_one, (jnp.int32(0), rows, nothing))
    return _by_row(decoder, mesh, rows), written


def _begin(decoder: Decoder, weights: Weights, rows: Rows, new: DevicePrefillBatch) -> Rows:
    with matrix_precision(decoder.dtype):
        cache = read_prompts(decoder, weights, rows.cache, new.prompts, new.rows, rows.rotations)
    where = new.rows
    return Rows(
        cache,
        rows.tokens.at[where].set(new.tokens, mode="drop"),
        rows.positions.at[where].set(new.positions, mode="drop"),
        rows.lengths.at[where].set(new.lengths, mode="drop"),
        rows.is_writing.at[where].set(True, mode="drop"),
        rows.keys.at[where].set(new.keys, mode="drop"),
        rows.rotations,
    )


def _write_one(
    decoder: Decoder, weights: Weights, rows: Rows, stop_ids: Array, choice: SamplingParams
) -> tuple[Rows, Array]:
    with matrix_precision(decoder.dtype):
        logits, cache = next_logits(decoder, weights, rows.cache, rows.tokens, rows.positions, rows.rotations)
    places = rows.positions + 1
    chosen = choose_tokens(choice, logits, rows.keys, places)
    is_finite = are_finite(logits)
    goes_on = rows.is_writing & is_finite & ~jnp.isin(chosen, stop_ids) & (places + 1 < rows.lengths)
    written = jnp.where(rows.is_writing, jnp.where(is_finite, chosen, NOT_FINITE), IDLE)
    after = rows._replace(
        cache=cache,
        tokens=jnp.where(goes_on, chosen, rows.tokens),
        positions=jnp.where(goes_on, places, rows.positions),
        is_writing=goes_on,
    )
    return after, written


def _by_row(decoder: Decoder, mesh: Mesh, rows: Rows) -> Rows:
    """The batch with its rows split over the devices."""
    by_row = _places(mesh)
    of_cache = by_row if decoder.unrolls_layers else NamedSharding(mesh, PartitionSpec(None, ROW_AXES))
    everywhere = NamedSharding(mesh, PartitionSpec())
    places: Any = (of_cache, *[by_row] * (len(rows) - 2), everywhere)
    return Rows(*jax.lax.with_sharding_constraint(tuple(rows), places))


def _places(mesh: Mesh) -> NamedSharding:
    """Where what has an entry for each row lives."""
    return NamedSharding(mesh, PartitionSpec(ROW_AXES))
