"""Packing changes the shape of the batches but not the loss or the gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from support.programs import tiny_architecture

from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, hidden_states, output_embedding
from tunix_rt.engines.jax.model.params import Params, init_params
from tunix_rt.engines.jax.training.loss import cross_entropy
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.tokenization.encoding import PARTS, EncodedExample
from tunix_rt.tokenization.packing import Batch, Batches, BatchSettings

LENGTHS = (21, 5, 14, 9, 11, 4)


def _example(token_ids: NDArray[np.int32]) -> EncodedExample:
    is_trained = (np.arange(len(token_ids)) >= 2).astype(np.uint8)
    return EncodedExample(
        text="",
        token_ids=token_ids,
        loss_mask=is_trained,
        parts=np.where(is_trained, PARTS.index("answer"), PARTS.index("prompt")).astype(np.uint8),
        ends=np.zeros(len(token_ids), np.int32),
        problems=frozenset(),
    )


def _one_batch(*, is_packed: bool, num_rows: int, vocab_size: int) -> Batch:
    random = np.random.default_rng(0)
    examples = [_example(random.integers(1, vocab_size, length, dtype=np.int32)) for length in LENGTHS]
    batches = Batches(examples, BatchSettings(32, num_rows, packed=is_packed), pad_id=0)
    assert batches.num_batches_per_epoch == 1
    return batches.batch(0)


def _loss_and_gradients(params: Params, architecture: Architecture, batch: Batch) -> tuple[Any, Any]:
    inputs = Inputs(*map(jnp.asarray, (batch.tokens, batch.segment_ids, batch.positions)))

    def loss_sum(params: Params) -> Any:
        hidden = hidden_states(params, None, architecture, inputs, ForwardOptions(jnp.float32))
        embedding = output_embedding(params, architecture)
        targets, mask = jnp.asarray(batch.targets), jnp.asarray(batch.loss_mask)
        cap = architecture.final_softcap
        return cross_entropy(hidden, embedding, targets, mask, chunk_tokens=24, softcap=cap)

    return jax.jit(jax.value_and_grad(loss_sum, has_aux=True))(params)


def test_packing_preserves_loss_and_gradients() -> None:
    architecture = tiny_architecture()  # with a window shorter than a row
    params = init_params(architecture, jax.random.key(0), jnp.float32)
    packed = _one_batch(is_packed=True, num_rows=2, vocab_size=architecture.vocab_size)
    padded = _one_batch(is_packed=False, num_rows=len(LENGTHS), vocab_size=architecture.vocab_size)
    assert packed.segment_ids.max() > 1

    (packed_loss, num_packed), packed_gradients = _loss_and_gradients(params, architecture, packed)
    (padded_loss, num_padded), padded_gradients = _loss_and_gradients(params, architecture, padded)
    assert num_packed == num_padded == sum(LENGTHS) - 2 * len(LENGTHS)
    np.testing.assert_allclose(packed_loss, padded_loss, rtol=1e-5)
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4),
        packed_gradients,
        padded_gradients,
    )
    assert max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(packed_gradients)) > 1
