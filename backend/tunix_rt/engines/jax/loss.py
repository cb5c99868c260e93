"""Cross-entropy over large vocabularies: only a chunk of the logits exists at one time.

Logits cost a matrix product as large as several layers, so they are computed once: where gradients are asked
for, the forward pass turns each chunk of logits into the gradients of the hidden states and of the embedding,
and the backward pass only scales them.

    hidden [B, T, D] --chunks--> n x [B, c, D] --embedding [V, D]--> logits [B, c, V] --> loss and gradients
"""

import dataclasses
import math
from functools import partial
from typing import Any

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
    """Sum of the losses of the tokens that the mask counts, and their number; both float32 scalars.

    The batch axis stays whole, so a chunk is `chunk_tokens // B` columns of every row (at least one).

    Args:
        hidden: [B, T, D]; its dtype is that of the matrix products. Softmax and sums are float32.
        embedding: [V, D], any float dtype. Its gradient is made only where it is differentiated.
        targets: [B, T], the id that each position must predict.
        mask: [B, T], 1 where the loss counts.
        chunk_tokens: Tokens whose logits exist at one time. None: all of them.
        softcap: Logits are bent to stay within ± this.
    """
    num_rows, num_columns = targets.shape
    num_chunks = 1 if chunk_tokens is None else math.ceil(num_columns / max(1, chunk_tokens // num_rows))
    weights = mask.astype(jnp.float32)
    loss_sum = _loss_sum(_Head(num_chunks, softcap), hidden, embedding, targets, weights)
    return loss_sum, jnp.sum(weights)


@dataclasses.dataclass(frozen=True)
class _Head:
    num_chunks: int
    softcap: float | None


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _loss_sum(
    head: _Head, hidden: jax.Array, embedding: jax.Array, targets: jax.Array, weights: jax.Array
) -> jax.Array:
    vectors = embedding.astype(hidden.dtype)

    def add_chunk(total: jax.Array, chunk: Any) -> tuple[jax.Array, None]:
        hidden, targets, weights = chunk
        losses, _ = _losses(_logits(hidden, vectors, head.softcap), targets)
        return total + jnp.sum(losses * weights), None

    chunks = [_split(array, head.num_chunks) for array in (hidden, targets, weights)]
    total, _ = jax.lax.scan(add_chunk, jnp.zeros((), jnp.float32), chunks)
    return total


def _forward(head: _Head, hidden: Any, embedding: Any, targets: Any, weights: Any) -> tuple[jax.Array, Any]:
    """The loss with both gradients; that of a frozen embedding is never made."""
    needs_embedding_grad = embedding.perturbed
    hidden, embedding, targets, weights = (array.value for array in (hidden, embedding, targets, weights))
    vectors = embedding.astype(hidden.dtype)

    def add_chunk(sums: Any, chunk: Any) -> Any:
        total, embedding_grad = sums
        hidden, targets, weights = chunk
        logits = _logits(hidden, vectors, head.softcap)
        losses, logits_grad = _losses(logits, targets)
        raw_grad = (_uncapped(logits_grad, logits, head.softcap) * weights[..., None]).astype(hidden.dtype)
        if embedding_grad is not None:
            embedding_grad += _einsum("bcv,bcd->vd", raw_grad, hidden)
        hidden_grad = _einsum("bcv,vd->bcd", raw_grad, vectors).astype(hidden.dtype)
        return (total + jnp.sum(losses * weights), embedding_grad), hidden_grad

    chunks = [_split(array, head.num_chunks) for array in (hidden, targets, weights)]
    zeros = jnp.zeros(embedding.shape, jnp.float32) if needs_embedding_grad else None
    (total, embedding_grad), hidden_grads = jax.lax.scan(
        add_chunk, (jnp.zeros((), jnp.float32), zeros), chunks
    )
    if embedding_grad is not None:
        embedding_grad = embedding_grad.astype(embedding.dtype)
    return total, (_join(hidden_grads, hidden.shape[1]), embedding_grad)


def _backward(_: _Head, grads: Any, loss_grad: jax.Array) -> tuple[Any, ...]:
    hidden_grad, embedding_grad = jax.tree.map(lambda grad: (grad * loss_grad).astype(grad.dtype), grads)
    return hidden_grad, embedding_grad, None, None


_loss_sum.defvjp(_forward, _backward, symbolic_zeros=True)


def _logits(hidden: jax.Array, vectors: jax.Array, softcap: float | None) -> jax.Array:
    logits = _einsum("bcd,vd->bcv", hidden, vectors)
    return logits if softcap is None else jnp.tanh(logits / softcap) * softcap


def _uncapped(grad: jax.Array, capped: jax.Array, softcap: float | None) -> jax.Array:
    """Gradient before the soft cap from the one after it: tanh' = 1 - tanh²."""
    return grad if softcap is None else grad * (1 - jnp.square(capped / softcap))


def _losses(logits: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Loss of every token [B, c], and its gradient [B, c, V]: softmax minus one at the target.

    The target is found by comparing, not by a gather: it joins the other passes over the logits, and works
    where the vocabulary is spread over devices.
    """
    is_target = targets[..., None] == jnp.arange(logits.shape[-1], dtype=targets.dtype)
    log_normalizers = jax.nn.logsumexp(logits, axis=-1)
    losses = log_normalizers - jnp.sum(jnp.where(is_target, logits, 0.0), axis=-1)
    return losses, jnp.exp(logits - log_normalizers[..., None]) - is_target


def _einsum(subscripts: str, left: jax.Array, right: jax.Array) -> jax.Array:
    return jnp.einsum(subscripts, left, right, preferred_element_type=jnp.float32)


def _split(array: jax.Array, num_chunks: int) -> jax.Array:
    """[B, T, ...] to [n, B, c, ...]; zeros fill the last chunk, and weigh nothing."""
    num_rows, num_columns, *rest = array.shape
    columns = math.ceil(num_columns / num_chunks)
    padding = [(0, 0), (0, num_chunks * columns - num_columns), *[(0, 0) for _ in rest]]
    return jnp.moveaxis(jnp.pad(array, padding).reshape(num_rows, num_chunks, columns, *rest), 1, 0)


def _join(chunks: jax.Array, num_columns: int) -> jax.Array:
    """[n, B, c, ...] back to [B, T, ...]."""
    _, num_rows, _, *rest = chunks.shape
    return jnp.moveaxis(chunks, 0, 1).reshape(num_rows, -1, *rest)[:, :num_columns]
