"""The exported directory loads in transformers and PEFT with the same logits, tokens and template."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from peft import PeftModel
from support.rows import logits
from transformers import AutoModelForCausalLM, AutoTokenizer

from tunix_rt.base.assets import shipped_model_names
from tunix_rt.engines.jax.export import export_model
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs
from tunix_rt.engines.jax.model.lora import Adapters, abstract_adapters, adapter_scale
from tunix_rt.engines.jax.model.params import Params, abstract_params
from tunix_rt.engines.jax.model.quantization import dequantize, quantize
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.weights.sources import ModelSource, resolve_model
from tunix_rt.recipes.types import ModelSection, QuantizationSection, Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.tokenizer import load_tokenizer

PROMPT = "What is 17 + 25? Würfle <b>zweimal</b>."
LORA = {"rank": 3, "alpha": 12.0, "targets": ("q", "v", "o", "down")}


@pytest.fixture(scope="module")
def encoder() -> TraceEncoder:
    tokenizer = load_tokenizer("tiny")
    return TraceEncoder(tokenizer, choose_template(tokenizer))


def make_recipe(model: str, **sections: object) -> Recipe:
    training = {"num_steps": 1, "mode": "lora" if "lora" in sections else "full"}
    return Recipe.model_validate(
        {"model": {"name": model, "weights": "random"}, "training": training, **sections}
    )


def random_model(name: str) -> tuple[ModelSource, Params]:
    """A built-in model whose every weight, norms included, is random."""
    source = resolve_model(ModelSection(name=name, weights="random"))
    return source, random_like(abstract_params(source.architecture, "float32"))


def random_like(tree: Any, seed: int = 0) -> Any:
    # Drawn by numpy: JAX would compile a program for every shape.
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.2 * rng.standard_normal(leaf.shape, np.float32)), tree)


def engine_logits(
    source: ModelSource,
    params: Params,
    encoder: TraceEncoder,
    adapters: Adapters | None = None,
    scale: float = 1.0,
) -> NDArray[np.float32]:
    tokens = np.array([encoder.encode_prompt(PROMPT)], np.int32)
    inputs = Inputs(tokens, np.ones_like(tokens), np.arange(tokens.shape[1], dtype=np.int32)[None])
    options = ForwardOptions("float32", adapter_scale=scale)
    return np.asarray(logits(params, adapters, source.architecture, inputs, options))[0]


def hf_logits(model: torch.nn.Module, directory: Path) -> NDArray[np.float32]:
    messages = [{"role": "user", "content": PROMPT}]
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    with torch.no_grad():
        return np.asarray(model(torch.tensor([ids])).logits[0])


def assert_close(actual: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    np.testing.assert_allclose(actual, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", shipped_model_names())
def test_transformers_reproduces_logits(name: str, encoder: TraceEncoder, tmp_path: Path) -> None:
    source, params = random_model(name)
    export_model(tmp_path / "model", params, None, make_recipe(name), source, encoder)
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert not any(report.values()), report
    assert model.dtype == torch.float32
    assert_close(engine_logits(source, params, encoder), hf_logits(model, tmp_path / "model"))


def test_peft_reproduces_adapter_logits(encoder: TraceEncoder, tmp_path: Path) -> None:
    source, params = random_model("tiny-qwen3")
    export_model(tmp_path / "base", params, None, make_recipe(source.name), source, encoder)
    recipe = make_recipe(source.name, lora=LORA)
    assert recipe.lora is not None
    adapters = random_like(abstract_adapters(source.architecture, recipe.lora), seed=1)
    scale = adapter_scale(recipe.lora)
    actual = engine_logits(source, params, encoder, adapters, scale)

    export_model(tmp_path / "adapter", params, adapters, recipe, source, encoder)
    base = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    adapted = PeftModel.from_pretrained(base, tmp_path / "adapter")
    assert_close(actual, hf_logits(adapted, tmp_path / "adapter"))

    merging = recipe.model_copy(update={"output": recipe.output.model_copy(update={"merge_adapters": True})})
    export_model(tmp_path / "merged", params, adapters, merging, source, encoder)
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    assert_close(actual, hf_logits(merged, tmp_path / "merged"))


def test_quantized_weights_export_dequantized(encoder: TraceEncoder, tmp_path: Path) -> None:
    source, params = random_model("tiny-llama")
    quantized = quantize(params, QuantizationSection(format="int8", block_size=16))
    export_model(tmp_path, quantized, None, make_recipe(source.name), source, encoder)
    exported = load_params(tmp_path, source.architecture, "float32")
    np.testing.assert_array_equal(
        exported["layers"]["gate"], dequantize(quantized["layers"]["gate"], jnp.float32)
    )


def test_export_includes_tokenizer(tmp_path: Path) -> None:
    source, params = random_model("tiny-qwen3")
    tokenizer = load_tokenizer("tiny")
    encoder = TraceEncoder(tokenizer, choose_template(tokenizer, "chatml"))
    export_model(tmp_path, params, None, make_recipe(source.name), source, encoder)
    hf_tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert hf_tokenizer.chat_template == encoder.template.source
    for text in (PROMPT, "  1,000 + 2\n\n3.", "<start_of_turn>user\n<bos>", "日本 🎲 ½"):
        [expected] = tokenizer.encode_batch([text])
        assert hf_tokenizer(text, add_special_tokens=False)["input_ids"] == expected.ids
    reloaded = load_tokenizer(str(tmp_path))
    assert reloaded.control_token_ids == tokenizer.control_token_ids
    assert reloaded.named_tokens == tokenizer.named_tokens


def test_config_records_dtype_and_eos(encoder: TraceEncoder, tmp_path: Path) -> None:
    source, params = random_model("tiny-gemma")
    stored = jax.tree.map(lambda leaf: leaf.astype("bfloat16"), params)
    export_model(tmp_path, stored, None, make_recipe(source.name), source, encoder)
    assert AutoModelForCausalLM.from_pretrained(tmp_path, dtype="auto").dtype == torch.bfloat16
    generation = json.loads((tmp_path / "generation_config.json").read_text())
    end_of_turn, end = encoder.tokenizer.token_id("<end_of_turn>"), encoder.tokenizer.token_id("<eos>")
    assert generation["eos_token_id"] == [end_of_turn, end]
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["eos_token_id"] == [end_of_turn, end]
    assert config["dtype"] == "bfloat16"


def test_failed_export_keeps_previous_model(encoder: TraceEncoder, tmp_path: Path) -> None:
    source, params = random_model("tiny-llama")
    export_model(tmp_path / "model", params, None, make_recipe(source.name), source, encoder)
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    incomplete = {"embedding": params["embedding"], "layers": params["layers"]}
    with pytest.raises(KeyError):
        export_model(tmp_path / "model", incomplete, None, make_recipe(source.name), source, encoder)
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
