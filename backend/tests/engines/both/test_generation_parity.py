"""Both engines generate the same text as transformers from the same weights."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from support.generation import loaded, random_prompts, write
from support.tiny_models import architecture_of, engine_params, tiny_model
from support.torch_generation import torch_model

# Distinct lengths, some longer than the windows of the tiny models.
LENGTHS = (3, 7, 12, 21)
NUM_NEW_TOKENS = 16
FAMILIES = ("gemma", "gemma2", "gemma3", "llama-llama3-scaling", "qwen3", "qwen3-window")


@pytest.mark.parametrize("name", FAMILIES)
def test_greedy_completions_match_transformers(name: str, tmp_path: Path) -> None:
    reference = tiny_model(name)
    reference.save_pretrained(tmp_path)
    architecture = architecture_of(reference)
    prompts = random_prompts(LENGTHS, architecture.vocab_size)
    expected = {(prompt.key, 0): hf_completion(reference, prompt.token_ids) for prompt in prompts}
    # A loop over the layers compiles one layer instead of eight. Other tests compare the two forms.
    jax_model = loaded(engine_params(reference, architecture), architecture, unrolls_layers=False)
    for model in (torch_model(tmp_path), jax_model):
        completions = write(model, prompts, max_new_tokens=NUM_NEW_TOKENS)
        assert {key: completion.token_ids for key, completion in completions.items()} == expected


def hf_completion(reference: torch.nn.Module, token_ids: Sequence[int]) -> tuple[int, ...]:
    reference.generation_config.eos_token_id = None
    output = reference.generate(
        torch.tensor([token_ids]),
        attention_mask=torch.ones(1, len(token_ids), dtype=torch.long),
        max_new_tokens=NUM_NEW_TOKENS,
        do_sample=False,
    )
    return tuple(output[0, len(token_ids) :].tolist())
