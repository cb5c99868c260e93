"""The logits of every model family equal those of transformers (eager attention, float32)."""

from pathlib import Path

import jax
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.rows import logits, packed_rows
from support.tiny_models import CONFIGS, architecture_of, tiny_model

from tunix_rt.engines.jax.model.decoder import ForwardOptions, embed
from tunix_rt.engines.jax.weights import load_params

ROW_LENGTH = 24
LENGTHS = (11, 3, 8, ROW_LENGTH)  # Shorter and longer than the windows of the models.


@pytest.mark.parametrize("name", CONFIGS)
def test_packed_logits_match_transformers(name: str, tmp_path: Path) -> None:
    model = tiny_model(name)
    model.save_pretrained(tmp_path)
    architecture = architecture_of(model)
    params = load_params(tmp_path, architecture, "float32")
    rng = np.random.default_rng(0)
    first, second, third, long = (rng.integers(1, 96, size=length, dtype=np.int32) for length in LENGTHS)

    inputs = packed_rows([[first, second, third], [long], [third]], ROW_LENGTH)
    actual = np.asarray(logits(params, None, architecture, inputs, ForwardOptions("float32")))

    for row, start, tokens in ((0, 0, first), (0, 11, second), (0, 14, third), (1, 0, long), (2, 0, third)):
        expected = _hf_logits(model, tokens)
        np.testing.assert_allclose(actual[row, start : start + len(tokens)], expected, atol=1e-4, rtol=1e-4)


def test_gemma_embedding_scale_is_rounded() -> None:
    model = tiny_model("gemma").to(torch.bfloat16)
    architecture = architecture_of(model)
    tokens = np.arange(8, dtype=np.int32)[None]
    with torch.no_grad():
        expected = model.get_input_embeddings()(torch.from_numpy(tokens).long()).float().numpy()

    weight = model.get_input_embeddings().weight.detach().float().numpy()
    actual = embed(jax.numpy.asarray(weight), architecture, tokens, "bfloat16")

    np.testing.assert_array_equal(np.asarray(actual, np.float32), expected)


def _hf_logits(model: torch.nn.Module, tokens: NDArray[np.int32]) -> NDArray[np.float32]:
    with torch.no_grad():
        result: NDArray[np.float32] = model(torch.from_numpy(tokens[None]).long()).logits[0].numpy()
    return result
