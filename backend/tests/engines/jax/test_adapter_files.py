"""Adapters on disk: PEFT's layout, exact round trips, and an error for every mistake."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from support.tiny_models import architecture_of, tiny_model

from tunix_rt.base.errors import DataError
from tunix_rt.engines.jax.model.lora import Adapters, abstract_adapters
from tunix_rt.engines.jax.weights import load_adapters, save_adapters
from tunix_rt.recipes.types import LoraSection

LORA = LoraSection(rank=3, alpha=7.5, dropout=0.25, targets=("q", "k", "down"))
ARCHITECTURE = architecture_of(tiny_model("gemma3"))


def random_adapters() -> Adapters:
    rng = np.random.default_rng(0)
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape, np.float32)),
        abstract_adapters(ARCHITECTURE, LORA),
    )


def save_random_adapters(directory: Path) -> Adapters:
    adapters = random_adapters()
    save_adapters(directory, adapters, LORA, base_model="owner/base", revision="abc")
    return adapters


def test_adapters_round_trip_exactly(tmp_path: Path) -> None:
    adapters = save_random_adapters(tmp_path)
    loaded, lora = load_adapters(tmp_path, ARCHITECTURE)
    assert lora == LORA
    assert jax.tree.structure(loaded) == jax.tree.structure(adapters)
    jax.tree.map(np.testing.assert_array_equal, loaded, adapters)


def test_config_names_base_and_targets(tmp_path: Path) -> None:
    save_random_adapters(tmp_path)
    config = LoraConfig.from_pretrained(tmp_path)
    assert (config.base_model_name_or_path, config.revision) == ("owner/base", "abc")
    assert (config.r, config.lora_alpha, config.lora_dropout) == (3, 7.5, 0.25)
    assert config.target_modules == {"q_proj", "k_proj", "down_proj"}
    assert config.task_type == "CAUSAL_LM"


def test_peft_adapters_are_loaded(tmp_path: Path) -> None:
    config = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "up_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(tiny_model("gemma3"), config)
    model.save_pretrained(tmp_path)
    adapters, lora = load_adapters(tmp_path, ARCHITECTURE)
    assert (lora.rank, lora.alpha, lora.targets) == (2, 4.0, ("q", "up"))
    expected = model.state_dict()["base_model.model.model.layers.5.mlp.up_proj.lora_A.default.weight"]
    np.testing.assert_array_equal(adapters["layers"]["up"]["a"][5], expected.numpy().T)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"use_rslora": True}, "use_rslora"),
        ({"r": "three"}, r"adapter_config\.json"),
        ({"lora_alpha": None}, r"adapter_config\.json"),
        ({"r": 0}, r"adapter_config\.json"),
    ],
)
def test_unsupported_config_is_rejected(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    save_random_adapters(tmp_path)
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(DataError, match=message):
        load_adapters(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_malformed_config_is_rejected(text: str, tmp_path: Path) -> None:
    save_random_adapters(tmp_path)
    (tmp_path / "adapter_config.json").write_text(text)
    with pytest.raises(DataError, match=r"adapter_config\.json"):
        load_adapters(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("layers.7.mlp.down_proj.lora_A", None, "layers.7.mlp.down_proj.lora_A.weight is missing"),
        ("layers.8.mlp.down_proj.lora_A", torch.ones(3, 48), "layers.8.* does not belong to that model"),
        ("layers.0.self_attn.q_proj.lora_B", torch.ones(64, 4), r"\[64, 4\] instead of \[64, 3\]"),
    ],
)
def test_mismatched_tensors_are_rejected(
    name: str, tensor: torch.Tensor | None, message: str, tmp_path: Path
) -> None:
    save_random_adapters(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    tensors = load_file(path) | {f"base_model.model.model.{name}.weight": tensor}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path)
    with pytest.raises(DataError, match=message):
        load_adapters(tmp_path, ARCHITECTURE)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no adapter_config\.json"):
        load_adapters(tmp_path, ARCHITECTURE)
    save_random_adapters(tmp_path)
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has no adapter_model\.safetensors"):
        load_adapters(tmp_path, ARCHITECTURE)
