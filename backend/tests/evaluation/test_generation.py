"""Batched decoding in JAX: KV cache, refilled rows, sampling, stopping, failures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.generation import loaded, random_prompts, write
from support.rows import logits
from support.tiny_models import architecture_of, engine_params, tiny_model

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.generation.scheduler import DecodeRequest, RequestQueue
from tunix_rt.engines.jax.generation.decoder import empty_cache, next_logits, prefill_cache, slot_rotations
from tunix_rt.engines.jax.generation.generator import LoadedModel
from tunix_rt.engines.jax.generation.steps import DevicePrefillBatch, empty_rows, prefill
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.types import Decoding
from tunix_rt.engines.weights.architecture import Architecture

LENGTHS = (3, 7, 12, 20, 9, 5)
GREEDY = {"max_new_tokens": 12}
SAMPLED = {"max_new_tokens": 12, "temperature": 1.0, "top_p": 0.9, "seed": 3}


@pytest.fixture(scope="module")
def params() -> Params:
    """Weights of a Gemma 2 with sliding windows of 5 and soft caps."""
    reference = tiny_model("gemma2")
    return engine_params(reference, architecture_of(reference))


@pytest.fixture(scope="module")
def architecture() -> Architecture:
    return architecture_of(tiny_model("gemma2"))


@pytest.fixture(scope="module")
def model(params: Params, architecture: Architecture) -> LoadedModel:
    return loaded(params, architecture)


@pytest.fixture(scope="module")
def prompts(model: LoadedModel) -> list[Prompt]:
    return random_prompts(LENGTHS, model.decoder.architecture.vocab_size)


def test_cached_logits_match_full_forward(params: Params, architecture: Architecture) -> None:
    model = loaded(params, architecture, unrolls_layers=False)
    [prompt] = random_prompts([24], architecture.vocab_size)
    tokens = jnp.asarray([prompt.token_ids])
    inputs = Inputs(tokens, jnp.ones_like(tokens), jnp.arange(24)[None])
    whole = logits(params, None, architecture, inputs, ForwardOptions("float32"))

    cache = empty_cache(model.decoder, 1, 32)
    angles = slot_rotations(model.decoder, 32)
    cache = prefill_cache(model.decoder, model.weights, cache, tokens[:, :16], jnp.array([0]), angles)
    step = jax.jit(next_logits, static_argnums=0)
    for position in range(10, 24):
        places = jnp.array([position])
        scores, cache = step(model.decoder, model.weights, cache, tokens[:, position], places, angles)
        np.testing.assert_allclose(scores[0], whole[0, position], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_text_is_independent_of_batch(
    model: LoadedModel, prompts: list[Prompt], decoding: dict[str, float]
) -> None:
    together = write(model, prompts, num_rows=32, **decoding)
    assert write(model, prompts[::-1], num_rows=1, **decoding) == together


def test_finished_rows_are_refilled(model: LoadedModel, prompts: list[Prompt]) -> None:
    assert write(model, prompts, num_rows=4, **GREEDY) == write(model, prompts, num_rows=32, **GREEDY)


def test_all_rows_are_bit_equal(model: LoadedModel) -> None:
    """The row of a prompt depends on timing, so it must not affect the result."""
    [prompt] = random_prompts([16], model.decoder.architecture.vocab_size)
    decoder, num_rows = model.decoder, 16
    rows = empty_rows(decoder, model.mesh, num_rows, 32)
    cache, tokens = rows.cache, jnp.tile(jnp.asarray(prompt.token_ids), (4, 1))
    for first in range(0, num_rows, 4):
        places = jnp.arange(first, first + 4)
        cache = prefill_cache(decoder, model.weights, cache, tokens, places, rows.rotations)
    step = jax.jit(next_logits, static_argnums=0)
    newest, positions = jnp.full(num_rows, tokens[0, -1]), jnp.full(num_rows, 15)
    for _ in range(4):
        scores, cache = step(decoder, model.weights, cache, newest, positions, rows.rotations)
        assert (scores == scores[0]).all()
        newest, positions = scores.argmax(-1), positions + 1


def test_sequential_prefill_matches_batched(model: LoadedModel) -> None:
    """A CPU prefills in one batch for large models, and sequentially for small models and chats."""
    prompts = random_prompts([16, 16, 16], model.decoder.architecture.vocab_size)
    new = DevicePrefillBatch(
        prompts=np.array([prompt.token_ids for prompt in prompts], np.int32),
        rows=np.array([3, 0, 1], np.int32),
        tokens=np.array([prompt.token_ids[-1] for prompt in prompts], np.int32),
        positions=np.full(3, 15, np.int32),
        lengths=np.array([20, 30, 40], np.int32),
        keys=np.arange(6, dtype=np.uint32).reshape(3, 2),
    )
    decoder, mesh, weights = model.decoder, model.mesh, model.weights
    sequential = prefill(decoder, mesh, weights, empty_rows(decoder, mesh, 4, 32), new, np.int32(2))
    # Row 4 does not exist: the third entry is padding.
    padded = new._replace(rows=np.array([3, 0, 4], np.int32))
    batched = prefill(decoder, mesh, weights, empty_rows(decoder, mesh, 4, 32), padded)
    assert sequential.is_active.tolist() == [True, False, False, True]
    assert sequential.lengths.tolist() == [30, 0, 0, 20]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-5), sequential, batched)


def test_advance_returns_when_rows_finish(model: LoadedModel, prompts: list[Prompt]) -> None:
    batch = model.batch(Decoding(**GREEDY), num_rows=4, num_slots=64, steps_per_sync=20)
    waiting = RequestQueue(
        DecodeRequest(prompt, len(prompt.token_ids) + count)
        for prompt, count in zip(prompts, (3, 30, 5, 11), strict=False)
    )
    while batch.prefill_from(waiting):
        pass
    num_tokens = [[len(piece.token_ids) for piece in batch.advance(awaited)] for awaited in (1, 2, 4, 4)]
    # The rows finish after 3, 5, 11 and 30 tokens; one call decodes at most 20.
    assert num_tokens == [[3, 3, 3, 3], [2, 2, 2], [20, 6], [5]]


def test_layer_loop_matches_unrolled_layers(
    model: LoadedModel, params: Params, architecture: Architecture, prompts: list[Prompt]
) -> None:
    looping = loaded(params, architecture, unrolls_layers=False)
    assert write(looping, prompts, **GREEDY) == write(model, prompts, **GREEDY)


def test_samples_depend_on_seed_and_key(model: LoadedModel, prompts: list[Prompt]) -> None:
    token_ids = prompts[0].token_ids
    same_text = [Prompt("a", token_ids), Prompt("a", token_ids, sample=1), Prompt("b", token_ids)]
    first = write(model, same_text, **SAMPLED)
    assert write(model, same_text, **SAMPLED) == first
    other_seed = write(model, same_text, **SAMPLED | {"seed": 4})
    texts = [completion.token_ids for completion in [*first.values(), *other_seed.values()]]
    assert len(set(texts)) == 6


def test_completion_ends_before_stop_token(
    model: LoadedModel, params: Params, architecture: Architecture, prompts: list[Prompt]
) -> None:
    prompt = prompts[0]
    unstopped = write(model, [prompt], **GREEDY)[prompt.key, 0]
    assert not unstopped.has_ended
    stop_id = unstopped.token_ids[4]
    stopping = loaded(params, architecture, stop_ids=[stop_id])
    stopped = write(stopping, [prompt], **GREEDY)[prompt.key, 0]
    assert stopped.has_ended
    assert stopped.token_ids == unstopped.token_ids[: unstopped.token_ids.index(stop_id)]


def test_completion_is_cut_at_max_tokens(model: LoadedModel, prompts: list[Prompt]) -> None:
    completions = write(model, prompts[:2], max_tokens=10, **GREEDY)
    assert {key: len(completion.token_ids) for (key, _), completion in completions.items()} == {
        "prompt-0": 7,
        "prompt-1": 3,
    }
    assert not any(completion.has_ended for completion in completions.values())


def test_non_finite_logits_fail_one_prompt() -> None:
    reference = tiny_model("llama")
    architecture = architecture_of(reference)
    params = engine_params(reference, architecture)
    poison_id = 95
    model = loaded(
        params | {"embedding": params["embedding"].at[poison_id].set(jnp.nan)},
        architecture,
        stop_ids=[poison_id],
    )
    healthy = [Prompt("first", [1, 2, 3]), Prompt("last", [4, 5])]
    poisoned = Prompt("poisoned", [1, poison_id, 3])
    completions = write(model, [healthy[0], poisoned, healthy[1]], num_rows=1, **GREEDY)
    assert completions["poisoned", 0].failure == "non-finite"
    assert completions["poisoned", 0].token_ids == ()
    expected = write(model, healthy, num_rows=1, **GREEDY)
    assert {key: completions[key] for key in expected} == expected
