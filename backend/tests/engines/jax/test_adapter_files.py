"""Adapters on disk: PEFT's layout, exact round trips, and an error for every mistake."""

import json
from pathlib import Path
from typing import Any

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


def saved(directory: Path) -> Adapters:
    adapters = random_adapters()
    save_adapters(directory, adapters, LORA, base_model="owner/base", revision="abc")
    return adapters


def test_adapters_come_back_exactly(tmp_path: Path) -> None:
    adapters = saved(tmp_path)
    loaded, lora = load_adapters(tmp_path, ARCHITECTURE)
    assert lora == LORA
    assert jax.tree.structure(loaded) == jax.tree.structure(adapters)
    jax.tree.map(np.testing.assert_array_equal, loaded, adapters)


def test_the_config_names_the_base_and_what_was_trained(tmp_path: Path) -> None:
    saved(tmp_path)
    config = LoraConfig.from_pretrained(tmp_path)
    assert (config.base_model_name_or_path, config.revision) == ("owner/base", "abc")
    assert (config.r, config.lora_alpha, config.lora_dropout) == (3, 7.5, 0.25)
    assert config.target_modules == {"q_proj", "k_proj", "down_proj"}
    assert config.task_type == "CAUSAL_LM"


def test_adapters_that_peft_saved_are_read(tmp_path: Path) -> None:
    config = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "up_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(tiny_model("gemma3"), config)
    model.save_pretrained(tmp_path)
    adapters, lora = load_adapters(tmp_path, ARCHITECTURE)
    assert (lora.rank, lora.alpha, lora.targets) == (2, 4.0, ("q", "up"))
    theirs = model.state_dict()["base_model.model.model.layers.5.mlp.up_proj.lora_A.default.weight"]
    np.testing.assert_array_equal(adapters["layers"]["up"]["a"][5], theirs.numpy().T)


def change_config(directory: Path, **changes: Any) -> None:
    path = directory / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("kind", ["use_dora", "use_rslora"])
def test_an_adapter_of_another_kind_is_refused(kind: str, tmp_path: Path) -> None:
    saved(tmp_path)
    change_config(tmp_path, **{kind: True})
    with pytest.raises(DataError, match=kind):
        load_adapters(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("changes", [{"r": "three"}, {"lora_alpha": None}, {"r": 0}])
def test_a_config_that_makes_no_sense_is_named(changes: dict[str, object], tmp_path: Path) -> None:
    saved(tmp_path)
    change_config(tmp_path, **changes)
    with pytest.raises(DataError, match=r"adapter_config\.json"):
        load_adapters(tmp_path, ARCHITECTURE)


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_config_is_named(text: str, tmp_path: Path) -> None:
    saved(tmp_path)
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
def test_tensors_that_do_not_fit_the_model_are_named(
    name: str, tensor: torch.Tensor | None, message: str, tmp_path: Path
) -> None:
    saved(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    tensors = load_file(path) | {f"base_model.model.model.{name}.weight": tensor}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path)
    with pytest.raises(DataError, match=message):
        load_adapters(tmp_path, ARCHITECTURE)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no adapter_config\.json"):
        load_adapters(tmp_path, ARCHITECTURE)
    saved(tmp_path)
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(DataError, match=r"has no adapter_model\.safetensors"):
        load_adapters(tmp_path, ARCHITECTURE)
