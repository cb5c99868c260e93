"""Chunked cross-entropy over large vocabularies.

Computing logits costs as much as several layers. When gradients are requested, the forward pass therefore
turns each chunk of logits into the gradients of the hidden states and the embedding right away, and the
backward pass only scales them. Prompts and padding are not trained on: each row is sorted so that its trained
tokens come first, and chunks without trained tokens are skipped.

    mask   0 0 1 1 1 0 1 0     sorted   1 1 1 1 . . . .     two columns per chunk [1 1] [1 1] [. .] [. .]
           1 1 0 0 0 1 0 0              1 1 1 . . . . .                           [1 1] [1 .] [. .] [. .]
                                                                                             skipped
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


def cross_entropy(
    hidden: jax.Array,
    embedding: jax.Array,
    targets: jax.Array,
    mask: jax.Array,
    *,
    chunk_tokens: int | None,
    softcap: float | None = None,
) -> tuple[jax.Array, jax.Array]:
    """Sum of the losses of the masked-in tokens, and their number; both float32 scalars.

    The batch axis stays whole, so a chunk is `chunk_tokens // B` columns of every row (at least one).

    Args:
        hidden: [B, T, D]; matrix products use its dtype. Softmax and sums are float32.
        embedding: [V, D], any float dtype. Its gradient is computed only if it is differentiated.
        targets: [B, T], the token id that each position must predict.
        mask: [B, T], 1 where the loss counts.
        chunk_tokens: Number of tokens whose logits exist at one time. None: all of them.
        softcap: Bound of the soft cap on the logits, or None.
    """
    num_rows, num_columns = targets.shape
    num_chunks = 1 if chunk_tokens is None else math.ceil(num_columns / max(1, chunk_tokens // num_rows))
    weights = mask.astype(jnp.float32)
    loss_sum = _loss_sum(num_chunks, softcap, hidden, embedding, targets, weights)
    return loss_sum, jnp.sum(weights)


class _Tokens(NamedTuple):
    """Inputs of the loss: all tokens [B, T, ...], chunks [n, B, c, ...], or one chunk [B, c, ...]."""

    hidden: jax.Array
    targets: jax.Array
    weights: jax.Array


class _Sums(NamedTuple):
    """Sums over the chunks."""

    loss: jax.Array
    embedding_grad: jax.Array | None
    hidden_grads: jax.Array
    """[n, B, c, D]: every chunk fills its own slice."""


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _loss_sum(
    num_chunks: int,
    softcap: float | None,
    hidden: jax.Array,
    embedding: jax.Array,
    targets: jax.Array,
    weights: jax.Array,
) -> jax.Array:
    vectors = embedding.astype(hidden.dtype)
    chunks = _split_chunks(_Tokens(hidden, targets, weights), _trained_first(weights), num_chunks)

    def add_chunk(_: jax.Array, chunk: _Tokens, total: jax.Array) -> jax.Array:
        losses, _ = _losses(_logits(chunk.hidden, vectors, softcap), chunk.targets)
        return total + jnp.sum(losses * chunk.weights)

    total: jax.Array = _fold_chunks(chunks, add_chunk, jnp.zeros((), jnp.float32))
    return total


def _forward(
    num_chunks: int, softcap: float | None, hidden: Any, embedding: Any, targets: Any, weights: Any
) -> tuple[jax.Array, Any]:
    """The loss with its gradients; the gradient of a frozen embedding is never computed."""
    tokens, table = _Tokens(hidden.value, targets.value, weights.value), embedding.value
    order = _trained_first(tokens.weights)
    chunks = _split_chunks(tokens, order, num_chunks)
    start = _Sums(
        loss=jnp.zeros((), jnp.float32),
        embedding_grad=jnp.zeros(table.shape, jnp.float32) if embedding.perturbed else None,
        hidden_grads=jnp.zeros_like(chunks.hidden),
    )
    vectors = table.astype(tokens.hidden.dtype)

    def add_chunk(index: jax.Array, chunk: _Tokens, sums: _Sums) -> _Sums:
        logits = _logits(chunk.hidden, vectors, softcap)
        losses, logits_grad = _losses(logits, chunk.targets)
        if softcap is not None:
            logits_grad *= 1 - jnp.square(logits / softcap)  # tanh' = 1 - tanh²
        logits_grad = (logits_grad * chunk.weights[..., None]).astype(vectors.dtype)
        hidden_grad = _einsum("bcv,vd->bcd", logits_grad, vectors).astype(vectors.dtype)
        embedding_grad = sums.embedding_grad
        if embedding_grad is not None:
            embedding_grad += _einsum("bcv,bcd->vd", logits_grad, chunk.hidden)
        return _Sums(
            sums.loss + jnp.sum(losses * chunk.weights),
            embedding_grad,
            jax.lax.dynamic_update_index_in_dim(sums.hidden_grads, hidden_grad, index, axis=0),
        )

    sums: _Sums = _fold_chunks(chunks, add_chunk, start)
    # [n, B, c, D] back to [B, T, D].
    num_rows, num_columns, width = tokens.hidden.shape
    joined = jnp.moveaxis(sums.hidden_grads, 0, 1).reshape(num_rows, -1, width)[:, :num_columns]
    hidden_grad = _reorder(joined, jnp.argsort(order, axis=1))
    embedding_grad = None if sums.embedding_grad is None else sums.embedding_grad.astype(table.dtype)
    return sums.loss, (hidden_grad, embedding_grad)


def _fold_chunks(chunks: _Tokens, add_chunk: Callable[[jax.Array, _Tokens, Any], Any], start: Any) -> Any:
    """Accumulate the chunks with trained tokens. A single chunk needs no loop and no second accumulator."""

    def add(index: jax.Array, total: Any) -> Any:
        chunk = (jax.lax.dynamic_index_in_dim(array, index, keepdims=False) for array in chunks)
        return add_chunk(index, _Tokens(*chunk), total)

    if chunks.weights.shape[0] == 1:
        return add(jnp.zeros((), jnp.int32), start)
    # Chunks with trained tokens come first.
    num_trained = jnp.sum(jnp.any(chunks.weights != 0, axis=(1, 2)), dtype=jnp.int32)
    return jax.lax.fori_loop(0, num_trained, add, start)


def _backward(_: int, __: float | None, grads: Any, loss_grad: jax.Array) -> tuple[Any, ...]:
    hidden_grad, embedding_grad = jax.tree.map(lambda grad: (grad * loss_grad).astype(grad.dtype), grads)
    return hidden_grad, embedding_grad, None, None


_loss_sum.defvjp(_forward, _backward, symbolic_zeros=True)


_einsum = partial(jnp.einsum, preferred_element_type=jnp.float32)


def _logits(hidden: jax.Array, vectors: jax.Array, softcap: float | None) -> jax.Array:
    logits = _einsum("bcd,vd->bcv", hidden, vectors)
    return logits if softcap is None else jnp.tanh(logits / softcap) * softcap


def _losses(logits: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Loss of every token [B, c], and its gradient [B, c, V]: softmax minus one at the target.

    The target is selected by comparison instead of a gather: XLA fuses it with the other passes over the
    logits, and it works when the vocabulary is sharded.
    """
    is_target = targets[..., None] == jnp.arange(logits.shape[-1], dtype=targets.dtype)
    log_normalizers = jax.nn.logsumexp(logits, axis=-1)
    losses = log_normalizers - jnp.sum(jnp.where(is_target, logits, 0.0), axis=-1)
    return losses, jnp.exp(logits - log_normalizers[..., None]) - is_target


def _trained_first(weights: jax.Array) -> jax.Array:
    """Column order of each row, trained tokens first: [B, T]."""
    return jnp.argsort(weights == 0, axis=1, stable=True)


def _split_chunks(tokens: _Tokens, order: jax.Array, num_chunks: int) -> _Tokens:
    """[B, T, ...] to [n, B, c, ...], reordered; the last chunk is padded with zeros of weight 0."""

    def split(array: jax.Array) -> jax.Array:
        num_rows, num_columns, *rest = array.shape
        columns = math.ceil(num_columns / num_chunks)
        padding = [(0, 0), (0, num_chunks * columns - num_columns), *[(0, 0) for _ in rest]]
        padded = jnp.pad(_reorder(array, order), padding)
        return jnp.moveaxis(padded.reshape(num_rows, num_chunks, columns, *rest), 1, 0)

    return _Tokens(*map(split, tokens))


def _reorder(array: jax.Array, order: jax.Array) -> jax.Array:
    """Permute the columns of each row: [B, T, ...] -> [B, T, ...]."""
    return jnp.take_along_axis(array, order.reshape(*order.shape, *[1] * (array.ndim - 2)), axis=1)
