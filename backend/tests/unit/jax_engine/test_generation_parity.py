"""What the engine writes, against transformers' own generation from the same weights."""

import pytest
import torch
from support.generation import loaded, random_prompts, write
from support.tiny_models import architecture_of, engine_params, tiny_model

# Longer than the windows of the tiny models, and than one another.
LENGTHS = (3, 7, 12, 21)
NUM_NEW_TOKENS = 16
FAMILIES = ("gemma", "gemma2", "gemma3", "llama-llama3-scaling", "qwen3", "qwen3-window")


@pytest.mark.parametrize("name", FAMILIES)
def test_greedy_completions_are_those_of_transformers(name: str) -> None:
    reference = tiny_model(name)
    architecture = architecture_of(reference)
    # A loop over the layers: one layer is compiled, not eight. That both forms agree is tested elsewhere.
    model = loaded(engine_params(reference, architecture), architecture, unrolls_layers=False)
    prompts = random_prompts(LENGTHS, architecture.vocab_size)
    ours = write(model, prompts, max_new_tokens=NUM_NEW_TOKENS)
    for prompt in prompts:
        assert list(ours[prompt.key, 0].token_ids) == their_completion(reference, list(prompt.token_ids))


def their_completion(reference: torch.nn.Module, token_ids: list[int]) -> list[int]:
    reference.generation_config.eos_token_id = None
    written = reference.generate(
        torch.tensor([token_ids]),
        attention_mask=torch.ones(1, len(token_ids), dtype=torch.long),
        max_new_tokens=NUM_NEW_TOKENS,
        do_sample=False,
    )
    return written[0, len(token_ids) :].tolist()
