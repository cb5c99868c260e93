"""The chunked cross-entropy equals a dense one, and the compiler reports the memory that it saves."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import Array

from tunix_rt.engines.jax.training.loss import cross_entropy

NUM_ROWS, NUM_COLUMNS, HIDDEN, VOCABULARY = 3, 11, 8, 50


class Case(NamedTuple):
    hidden: Array
    embedding: Array
    targets: Array
    mask: Array


@pytest.fixture(scope="module")
def case() -> Case:
    keys = jax.random.split(jax.random.key(0), 4)
    shape = (NUM_ROWS, NUM_COLUMNS)
    return Case(
        hidden=jax.random.normal(keys[0], (*shape, HIDDEN)),
        embedding=jax.random.normal(keys[1], (VOCABULARY, HIDDEN)),
        targets=jax.random.randint(keys[2], shape, 0, VOCABULARY),
        mask=jax.random.bernoulli(keys[3], 0.5, shape).astype(jnp.uint8),
    )


def dense_loss(hidden: Array, embedding: Array, case: Case, softcap: float | None = None) -> Array:
    logits = jnp.einsum("btd,vd->btv", hidden, embedding, preferred_element_type=jnp.float32)
    if softcap is not None:
        logits = softcap * jnp.tanh(logits / softcap)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, case.targets)
    return jnp.sum(losses * case.mask)


def chunked_loss(
    hidden: Array,
    embedding: Array,
    case: Case,
    chunk_tokens: int | None = 6,
    softcap: float | None = None,
) -> Array:
    loss_sum, _ = cross_entropy(
        hidden, embedding, case.targets, case.mask, chunk_tokens=chunk_tokens, softcap=softcap
    )
    return loss_sum


dense_gradients = jax.jit(jax.value_and_grad(dense_loss, argnums=(0, 1)), static_argnums=3)
chunked_gradients = jax.jit(jax.value_and_grad(chunked_loss, argnums=(0, 1)), static_argnums=(3, 4))


@pytest.mark.parametrize(
    ("chunk_tokens", "softcap"), [(None, None), (1, None), (6, None), (13, 3.0), (1000, 3.0)]
)
def test_chunked_loss_matches_dense(case: Case, chunk_tokens: int | None, softcap: float | None) -> None:
    expected = dense_gradients(case.hidden, case.embedding, case, softcap)

    actual = chunked_gradients(case.hidden, case.embedding, case, chunk_tokens, softcap)

    for actual_leaf, expected_leaf in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(actual_leaf, expected_leaf, rtol=1e-5, atol=1e-5)


def test_loss_without_gradients_is_equal(case: Case) -> None:
    beside_gradients, _ = chunked_gradients(case.hidden, case.embedding, case, 6, None)

    alone, num_tokens = jax.jit(partial(cross_entropy, chunk_tokens=6))(*case)

    assert float(alone) == pytest.approx(float(beside_gradients), rel=1e-6)
    assert num_tokens == case.mask.sum()
    assert num_tokens.dtype == jnp.float32


def test_gradients_scale_with_upstream(case: Case) -> None:
    _, (once, _) = chunked_gradients(case.hidden, case.embedding, case, 6, None)

    thrice = jax.jit(jax.grad(lambda hidden: 3.0 * chunked_loss(hidden, case.embedding, case)))(case.hidden)

    np.testing.assert_allclose(thrice, 3.0 * once, rtol=1e-6)


def test_masked_rows_have_no_effect(case: Case) -> None:
    one_row_less = case._replace(mask=case.mask.at[1].set(0))
    fully_masked = case._replace(mask=jnp.zeros_like(case.mask))

    _, (hidden_grad, _) = chunked_gradients(case.hidden, case.embedding, one_row_less, 6, None)
    masked_loss, masked_grads = chunked_gradients(case.hidden, case.embedding, fully_masked, 6, None)

    assert not hidden_grad[1].any()
    assert hidden_grad[0].any()
    assert masked_loss == 0
    assert not any(grad.any() for grad in masked_grads)


def test_fully_masked_chunks_are_skipped(case: Case) -> None:
    # Each row has six trained tokens at arbitrary columns, so three chunks of two columns hold all of them.
    # The states of all other tokens are NaN, which would spread to any sum that includes them.
    is_trained = np.random.default_rng(0).permuted(np.arange(NUM_COLUMNS) < 6, axis=-1)
    mask = np.stack([np.roll(is_trained, row) for row in range(NUM_ROWS)])
    poisoned = jnp.where(mask[..., None], case.hidden, jnp.nan)
    expected, _ = dense_gradients(case.hidden, case.embedding, case._replace(mask=mask), None)

    loss, (hidden_grad, embedding_grad) = chunked_gradients(
        poisoned, case.embedding, case._replace(mask=mask), 2 * NUM_ROWS, None
    )

    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert jnp.isfinite(hidden_grad).all()
    assert jnp.isfinite(embedding_grad).all()


def test_bfloat16_loss_accumulates_in_float32(case: Case) -> None:
    hidden, embedding = case.hidden.astype(jnp.bfloat16), case.embedding.astype(jnp.bfloat16)
    exact, _ = dense_gradients(hidden.astype(jnp.float32), embedding.astype(jnp.float32), case, None)

    loss, (hidden_grad, embedding_grad) = chunked_gradients(hidden, embedding, case, 6, None)

    assert float(loss) == pytest.approx(float(exact), rel=1e-5)
    assert (hidden_grad.dtype, embedding_grad.dtype) == (jnp.bfloat16, jnp.bfloat16)


def test_embedding_gradient_keeps_float32(case: Case) -> None:
    hidden = case.hidden.astype(jnp.bfloat16)
    _, (_, expected) = dense_gradients(hidden.astype(jnp.float32), case.embedding, case, None)

    _, (_, gradient) = chunked_gradients(hidden, case.embedding, case, 6, None)

    assert gradient.dtype == jnp.float32
    np.testing.assert_allclose(gradient, expected, atol=0.02 * float(jnp.abs(expected).max()))


def compiled_loss(
    *, vocabulary: int, hidden: int, chunk_tokens: int | None, is_embedding_frozen: bool = False
) -> jax.stages.Compiled:
    """Compile the value and gradients for 4 rows of 512 tokens from abstract shapes."""
    shape = (4, 512)
    step = jax.value_and_grad(
        lambda states, embedding, targets, mask: cross_entropy(
            states, embedding, targets, mask, chunk_tokens=chunk_tokens
        )[0],
        argnums=0 if is_embedding_frozen else (0, 1),
    )
    return (
        jax.jit(step)
        .lower(
            jax.ShapeDtypeStruct((*shape, hidden), jnp.float32),
            jax.ShapeDtypeStruct((vocabulary, hidden), jnp.float32),
            jax.ShapeDtypeStruct(shape, jnp.int32),
            jax.ShapeDtypeStruct(shape, jnp.uint8),
        )
        .compile()
    )


def temp_bytes(compiled: jax.stages.Compiled) -> int:
    return int(compiled.memory_analysis().temp_size_in_bytes)


def test_full_logits_never_materialize() -> None:
    all_logits = 4 * 512 * 256_000 * 4

    chunked = compiled_loss(vocabulary=256_000, hidden=64, chunk_tokens=64)
    dense = compiled_loss(vocabulary=256_000, hidden=64, chunk_tokens=None)

    assert temp_bytes(dense) > all_logits
    assert temp_bytes(chunked) < all_logits / 8


def test_frozen_embedding_has_no_gradient() -> None:
    embedding_bytes = 16_384 * 256 * 4

    frozen = compiled_loss(vocabulary=16_384, hidden=256, chunk_tokens=16, is_embedding_frozen=True)
    trained = compiled_loss(vocabulary=16_384, hidden=256, chunk_tokens=16)

    assert trained.memory_analysis().output_size_in_bytes > embedding_bytes
    assert temp_bytes(frozen) + frozen.memory_analysis().output_size_in_bytes < 0.6 * embedding_bytes


def test_logits_are_computed_once() -> None:
    product_flops = 2 * 4 * 512 * 4096 * 64

    cost = compiled_loss(vocabulary=4096, hidden=64, chunk_tokens=None).cost_analysis()

    assert cost["flops"] < 3.2 * product_flops
