"""Loading and saving weights, in both directions with transformers."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import Array
from safetensors.torch import load_file, save_file
from support.tiny_models import CONFIGS, architecture_of, engine_params, tiny_model
from transformers import Gemma3Config, Gemma3ForConditionalGeneration, PreTrainedModel

from tunix_rt.base.errors import DataError
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.jax.weights import load_params, save_params
from tunix_rt.engines.weights.architecture import architecture_from_config

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def assert_same(actual: Params, expected: Params) -> None:
    assert actual.keys() == expected.keys()
    assert actual["layers"].keys() == expected["layers"].keys()
    for name in actual.keys() - {"layers"}:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)
    for name in actual["layers"]:
        np.testing.assert_array_equal(actual["layers"][name], expected["layers"][name], err_msg=name)


def tensors_in(directory: Path) -> dict[str, torch.Tensor]:
    return {
        name: tensor for path in directory.glob("*.safetensors") for name, tensor in load_file(path).items()
    }


@pytest.mark.parametrize("name", CONFIGS)
def test_transformers_weights_round_trip(name: str, tmp_path: Path) -> None:
    model = tiny_model(name)
    architecture = architecture_of(model)
    model.save_pretrained(tmp_path / "original")
    params = load_params(tmp_path / "original", architecture, "float32")
    assert_same(params, engine_params(model, architecture))

    (tmp_path / "saved").mkdir()
    save_params(tmp_path / "saved", params, architecture)
    saved, original = tensors_in(tmp_path / "saved"), tensors_in(tmp_path / "original")
    assert saved.keys() == original.keys()
    for tensor_name, tensor in saved.items():
        assert torch.equal(tensor, original[tensor_name]), tensor_name


@pytest.mark.parametrize("stored", FORMATS)
@pytest.mark.parametrize("requested", ["float32", "bfloat16"])
def test_dtype_conversion_matches_torch(stored: str, requested: str, tmp_path: Path) -> None:
    model = tiny_model("llama").to(FORMATS[stored])
    architecture = architecture_of(model)
    model.save_pretrained(tmp_path)
    params = load_params(tmp_path, architecture, requested)
    assert params["layers"]["gate"].dtype == requested
    # Bit patterns of bfloat16 are exact in float32, which numpy can compare.
    expected = engine_params(model.to(FORMATS[requested]).float(), architecture)
    assert_same(params, expected)


def test_bfloat16_round_trip_is_exact(tmp_path: Path) -> None:
    model = tiny_model("gemma2").bfloat16()
    architecture = architecture_of(model)
    model.save_pretrained(tmp_path / "original")
    (tmp_path / "saved").mkdir()
    save_params(
        tmp_path / "saved", load_params(tmp_path / "original", architecture, "bfloat16"), architecture
    )
    saved, original = tensors_in(tmp_path / "saved"), tensors_in(tmp_path / "original")
    assert all(torch.equal(saved[name], original[name]) for name in saved.keys() | original.keys())
    assert {tensor.dtype for tensor in saved.values()} == {torch.bfloat16}


def test_unstacked_layers_are_saved_like_stacked(tmp_path: Path) -> None:
    model = tiny_model("qwen3")
    architecture = architecture_of(model)
    params = engine_params(model, architecture)
    unstacked = [
        {name: stack[layer] for name, stack in params["layers"].items()}
        for layer in range(architecture.num_layers)
    ]
    save_params(tmp_path, params | {"layers": unstacked}, architecture)
    assert_same(load_params(tmp_path, architecture, "float32"), params)


def test_indexed_shards_round_trip(tmp_path: Path) -> None:
    model = tiny_model("qwen3")
    architecture = architecture_of(model)
    model.save_pretrained(tmp_path / "original", max_shard_size="20KB")
    params = load_params(tmp_path / "original", architecture, "float32")
    assert_same(params, engine_params(model, architecture))

    (tmp_path / "saved").mkdir()
    save_params(tmp_path / "saved", params, architecture, max_shard_bytes=20_000)
    files = sorted(path.name for path in (tmp_path / "saved").glob("*.safetensors"))
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    assert len(files) > 1
    index = json.loads((tmp_path / "saved" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == set(files)
    assert index["metadata"]["total_size"] == 4 * architecture.num_parameters
    assert_same(load_params(tmp_path / "saved", architecture, "float32"), params)


def test_multimodal_model_loads_text_weights(tmp_path: Path) -> None:
    text = CONFIGS["gemma3"].to_dict()
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4, image_token_index=9)
    torch.manual_seed(0)
    model = Gemma3ForConditionalGeneration(config)
    model.save_pretrained(tmp_path)
    architecture = architecture_from_config(json.loads((tmp_path / "config.json").read_text()))
    params = load_params(tmp_path, architecture, "float32")
    state = model.state_dict()
    np.testing.assert_array_equal(
        params["layers"]["down"][3].T, state["model.language_model.layers.3.mlp.down_proj.weight"].numpy()
    )
    np.testing.assert_array_equal(params["final_norm"], state["model.language_model.norm.weight"].numpy())


def test_convert_receives_each_weight(tmp_path: Path) -> None:
    model = save_model(tmp_path)
    names: list[str] = []

    def negate(name: str, array: Array) -> Array:
        names.append(name)
        return -array

    params = load_params(tmp_path, architecture_of(model), "float32", convert=negate)
    assert_same(jax.tree.map(jnp.negative, params), engine_params(model, architecture_of(model)))
    assert sorted(names) == sorted([*params["layers"], "embedding", "final_norm"])


def save_model(directory: Path, name: str = "llama-llama3-scaling") -> PreTrainedModel:
    model = tiny_model(name)
    model.save_pretrained(directory)
    return model


def edit_weights(directory: Path, **changes: torch.Tensor | None) -> None:
    """Rewrite the weights with tensors replaced, added or (None) removed."""
    path = directory / "model.safetensors"
    tensors = load_file(path) | {name.replace("__", "."): tensor for name, tensor in changes.items()}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path)


def test_rotary_table_is_ignored(tmp_path: Path) -> None:
    model = save_model(tmp_path)
    edit_weights(tmp_path, model__layers__0__self_attn__rotary_emb__inv_freq=torch.ones(8))
    architecture = architecture_of(model)
    assert_same(load_params(tmp_path, architecture, "float32"), engine_params(model, architecture))


def test_tied_head_must_equal_embedding(tmp_path: Path) -> None:
    model = save_model(tmp_path)
    embedding = model.state_dict()["model.embed_tokens.weight"]
    edit_weights(tmp_path, lm_head__weight=embedding.clone())
    assert "head" not in load_params(tmp_path, architecture_of(model), "float32")
    edit_weights(tmp_path, lm_head__weight=embedding + 1)
    with pytest.raises(DataError, match=r"lm_head\.weight .* differs.*tie_word_embeddings"):
        load_params(tmp_path, architecture_of(model), "float32")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model__norm__weight": None}, r"do not have the tensor model\.norm\.weight"),
        ({"model__norm__weight": torch.ones(31)}, r"model\.norm\.weight in .* has shape \[31\].* \[32\]"),
        ({"model__embed_tokens__weight": torch.ones(95, 32)}, r"embed_tokens.* \[95, 32\].* \[96, 32\]"),
        ({"model__norm__weight": torch.ones(32, dtype=torch.int8)}, r"model\.norm\.weight .* stored as I8"),
        (
            {"model__layers__0__self_attn__q_proj__bias": torch.ones(64)},
            r"q_proj\.bias in model\.safetensors does not belong to the model",
        ),
        (
            {"model__layers__2__input_layernorm__weight": torch.ones(32)},
            r"layers\.2\.input_layernorm\.weight .* does not belong to the model",
        ),
    ],
)
def test_mismatched_tensors_are_named(
    changes: dict[str, torch.Tensor | None], message: str, tmp_path: Path
) -> None:
    model = save_model(tmp_path)
    edit_weights(tmp_path, **changes)
    with pytest.raises(DataError, match=message):
        load_params(tmp_path, architecture_of(model), "float32")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:5],
        lambda content: content[:100],
        lambda content: content[:-100],
        lambda content: b"\xff" * len(content),
        lambda content: b"",
    ],
    ids=["truncated length", "truncated header", "truncated data", "garbage", "empty"],
)
def test_damaged_file_is_named(damage: object, tmp_path: Path) -> None:
    model = save_model(tmp_path)
    path = tmp_path / "model.safetensors"
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"model\.safetensors in .* is damaged.*Download") as caught:
        load_params(tmp_path, architecture_of(model), "float32")
    assert caught.value.exit_code == 3


def test_missing_shard_is_named(tmp_path: Path) -> None:
    model = tiny_model("qwen3")
    model.save_pretrained(tmp_path, max_shard_size="20KB")
    next(tmp_path.glob("model-00002-of-*")).unlink()
    with pytest.raises(DataError, match=r"has no model-00002-of-0000.\.safetensors"):
        load_params(tmp_path, architecture_of(model), "float32")


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', '{"weight_map": {"a": "../b"}}'])
def test_invalid_index_is_rejected(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(DataError, match=r"model\.safetensors\.index\.json in .* is damaged"):
        load_params(tmp_path, architecture_from_config(CONFIGS["llama"].to_dict()), "float32")


def test_missing_weights_are_explained(tmp_path: Path) -> None:
    architecture = architecture_from_config(CONFIGS["llama"].to_dict())
    with pytest.raises(DataError, match="weights: random"):
        load_params(tmp_path, architecture, "float32")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(DataError, match="LoRA adapter"):
        load_params(tmp_path, architecture, "float32")
