"""Batched generation with the torch engine: KV cache, refill, sampling, stopping and failures."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.generation import random_prompts, write
from support.tiny_models import tiny_model
from support.torch_generation import torch_model

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.torch.generation.decoder import KVCache, next_logits, prefill
from tunix_rt.engines.torch.generation.generator import LoadedModel

LENGTHS = (3, 7, 12, 20, 9, 5)
GREEDY = {"max_new_tokens": 12}
SAMPLED = {"max_new_tokens": 12, "temperature": 1.0, "top_p": 0.9, "seed": 3}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Gemma 2 with sliding windows of 5 tokens and soft caps."""
    path = tmp_path_factory.mktemp("gemma2")
    tiny_model("gemma2").save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def model(directory: Path) -> LoadedModel:
    return torch_model(directory)


@pytest.fixture(scope="module")
def prompts(model: LoadedModel) -> list[Prompt]:
    return random_prompts(LENGTHS, model.decoder.architecture.vocab_size)


@pytest.mark.parametrize("name", ["gemma2", "llama"])
def test_cached_logits_match_full_forward(name: str, tmp_path: Path) -> None:
    reference = tiny_model(name)
    reference.save_pretrained(tmp_path)
    decoder = torch_model(tmp_path).decoder
    [prompt] = random_prompts([24], decoder.architecture.vocab_size)
    tokens = torch.tensor([prompt.token_ids])
    with torch.inference_mode():
        whole = reference(tokens).logits[0]
        cache = KVCache(
            decoder.architecture, num_rows=2, num_slots=32, dtype=torch.float32, device=torch.device("cpu")
        )
        prefill(decoder, cache, tokens[:, :16], rows=torch.tensor([1]))
        for position in range(10, 24):
            newest = torch.tensor([0, int(tokens[0, position])])
            logits = next_logits(decoder, cache, newest, torch.tensor([0, position]))
            torch.testing.assert_close(logits[1], whole[position], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_completion_is_independent_of_batch(
    model: LoadedModel, prompts: list[Prompt], decoding: dict[str, float]
) -> None:
    batched = write(model, prompts, num_rows=8, **decoding)
    assert write(model, prompts[::-1], num_rows=1, **decoding) == batched


def test_finished_rows_are_refilled(model: LoadedModel, prompts: list[Prompt]) -> None:
    assert write(model, prompts, num_rows=4, **GREEDY) == write(model, prompts, num_rows=8, **GREEDY)


def test_sampling_is_seeded_per_prompt(model: LoadedModel, prompts: list[Prompt]) -> None:
    """The seed, the prompt key and the sample index decide the tokens."""
    token_ids = prompts[0].token_ids
    same_text = [Prompt("a", token_ids), Prompt("a", token_ids, sample=1), Prompt("b", token_ids)]
    first = write(model, same_text, **SAMPLED)
    assert write(model, same_text, **SAMPLED) == first
    other_seed = write(model, same_text, **SAMPLED | {"seed": 4})
    texts = [completion.token_ids for completion in [*first.values(), *other_seed.values()]]
    assert len(set(texts)) == 6


def test_longer_limit_extends_sampled_completion(model: LoadedModel, prompts: list[Prompt]) -> None:
    short, long = (
        write(model, prompts[:1], **SAMPLED | {"max_new_tokens": limit})["prompt-0", 0].token_ids
        for limit in (12, 40)
    )
    assert long[:12] == short


def test_completion_ends_before_stop_token(model: LoadedModel, prompts: list[Prompt]) -> None:
    prompt = prompts[0]
    unstopped = write(model, [prompt], **GREEDY)[prompt.key, 0]
    assert not unstopped.has_ended
    stop_id = unstopped.token_ids[4]
    stopped = write(replace(model, stop_ids=frozenset([stop_id])), [prompt], **GREEDY)[prompt.key, 0]
    assert stopped.has_ended
    assert stopped.token_ids == unstopped.token_ids[: unstopped.token_ids.index(stop_id)]


def test_context_limit_truncates_completion(model: LoadedModel, prompts: list[Prompt]) -> None:
    completions = write(model, prompts[:2], max_tokens=10, **GREEDY)
    assert {key: len(completion.token_ids) for (key, _), completion in completions.items()} == {
        "prompt-0": 7,
        "prompt-1": 3,
    }
    assert not any(completion.has_ended for completion in completions.values())


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_non_finite_logits_fail_one_prompt(decoding: dict[str, float], tmp_path: Path) -> None:
    poison = 95
    tiny_model("llama").save_pretrained(tmp_path)
    model = torch_model(tmp_path, stop_ids=[poison])
    with torch.no_grad():
        model.decoder.module.model.embed_tokens.weight[poison] = torch.nan
    healthy = [Prompt("first", [1, 2, 3]), Prompt("last", [4, 5])]
    poisoned = Prompt("poisoned", [1, poison, 3])
    completions = write(model, [healthy[0], poisoned, healthy[1]], num_rows=1, **decoding)
    assert completions["poisoned", 0].failure == "non-finite"
    assert completions["poisoned", 0].token_ids == ()
    expected = write(model, healthy, num_rows=1, **decoding)
    assert {key: completions[key] for key in expected} == expected


def test_bfloat16_reaches_length_limit(directory: Path, prompts: list[Prompt]) -> None:
    model = torch_model(directory, precision="bfloat16")
    completions = write(model, prompts, **GREEDY)
    assert [len(completion.token_ids) for completion in completions.values()] == [12] * len(prompts)
    assert all(completion.failure is None for completion in completions.values())
