"""The programs that run on the device: take prompts into rows of a batch, and let every row write on.

A row that has ended idles until it is given the next prompt. Shapes never change, so both programs are
compiled once, and what a row writes does not depend on its neighbours.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tunix_rt.engines.generation_batch import IDLE, NOT_FINITE
from tunix_rt.engines.jax.generation.cache import Cache, empty_cache
from tunix_rt.engines.jax.generation.forward import (
    Decoder,
    Weights,
    next_logits,
    read_prompts,
    rotations_of_slots,
)
from tunix_rt.engines.jax.generation.sampling import Choice, are_finite, choose_tokens
from tunix_rt.engines.jax.precision import matrix_precision
from tunix_rt.engines.jax.rope import Rotation
from tunix_rt.engines.jax.sharding import ROW_AXES


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


class Begun(NamedTuple):
    """`Newcomers` on the device, filled up with rows that nobody takes."""

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
        has_turned_keys=decoder.has_turned_keys,
    )
    numbers, keys = jnp.zeros(batch_size, jnp.int32), jnp.zeros((batch_size, 2), jnp.uint32)
    rotations = rotations_of_slots(decoder, num_slots)
    return _by_row(decoder, mesh, Rows(cache, numbers, numbers, numbers, numbers > 0, keys, rotations))


@partial(jax.jit, static_argnames=("decoder", "mesh"), donate_argnames="rows")
def admit(decoder: Decoder, mesh: Mesh, weights: Weights, rows: Rows, new: Begun) -> Rows:
    """Give prompts to rows that are free."""
    new = Begun(*jax.lax.with_sharding_constraint(tuple(new), _places(mesh)))
    return _by_row(decoder, mesh, _begin(decoder, weights, rows, new))


@partial(jax.jit, static_argnames=("decoder", "mesh"), donate_argnames="rows")
def admit_in_turn(
    decoder: Decoder, mesh: Mesh, weights: Weights, rows: Rows, new: Begun, num_new: Array
) -> Rows:
    """The same with the first `num_new` prompts, one after the other.

    For CPUs: one prompt keeps a core busy, and one that only fills up the program would cost as much.
    """

    def begin_next(number: Array, rows: Rows) -> Rows:
        one = Begun(*(jax.lax.dynamic_slice_in_dim(numbers, number, 1) for numbers in new))
        return _begin(decoder, weights, rows, one)

    return _by_row(decoder, mesh, jax.lax.fori_loop(0, num_new, begin_next, rows))


@partial(jax.jit, static_argnames=("decoder", "mesh", "choice", "num_steps"), donate_argnames="rows")
def write_on(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    stop_ids: Array,
    *,
    choice: Choice,
    num_steps: int,
) -> tuple[Rows, Array]:
    """Some more tokens of every row, int32 [num_steps, B], with IDLE or NOT_FINITE where there is none."""

    def write_one(rows: Rows, _: None) -> tuple[Rows, Array]:
        return _write_one(decoder, weights, rows, stop_ids, choice)

    rows, written = jax.lax.scan(write_one, rows, length=num_steps)
    return _by_row(decoder, mesh, rows), written


@partial(jax.jit, static_argnames=("decoder", "mesh", "choice", "num_steps"), donate_argnames="rows")
def write_until_free(
    decoder: Decoder,
    mesh: Mesh,
    weights: Weights,
    rows: Rows,
    stop_ids: Array,
    num_awaited: Array,
    *,
    choice: Choice,
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


def _begin(decoder: Decoder, weights: Weights, rows: Rows, new: Begun) -> Rows:
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
    decoder: Decoder, weights: Weights, rows: Rows, stop_ids: Array, choice: Choice
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
