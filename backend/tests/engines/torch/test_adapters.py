"""LoRA adapters through PEFT: trained parameters, outputs and files."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from support.rows import packed_rows
from support.tiny_models import tiny_model
from support.torch_models import CPU, decoder_of, inputs_of
from torch import Tensor

from tunix_rt.base.errors import DataError
from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, hidden_states
from tunix_rt.engines.jax.model.lora import adapter_scale, init_adapters
from tunix_rt.engines.jax.weights import load_adapters as load_jax_adapters
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.jax.weights import save_adapters as save_jax_adapters
from tunix_rt.engines.torch.model.decoder import Decoder, open_decoder
from tunix_rt.engines.torch.model.lora import adapter_tensors, add_adapters, load_adapters, merged_weights
from tunix_rt.engines.weights.adapters import WEIGHTS_FILE, adapter_shapes, write_adapter_config
from tunix_rt.recipes.types import LoraSection

LORA = LoraSection(rank=4, alpha=6.0, targets=("q", "v", "down"))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gemma3")
    tiny_model("gemma3").save_pretrained(path)
    return path


def _adapted_decoder(directory: Path, lora: LoraSection = LORA, *, is_random: bool = True) -> Decoder:
    """A decoder with adapters; `is_random` gives them random values, so that they change its output."""
    decoder = decoder_of(directory)
    add_adapters(decoder, lora, seed=0)
    if is_random:
        torch.manual_seed(0)
        for tensor in adapter_tensors(decoder).values():
            tensor.add_(0.1 * torch.randn(tensor.shape))
    return decoder


def _rows() -> Inputs:
    tokens = np.random.default_rng(0).integers(1, 96, size=12, dtype=np.int32)
    return packed_rows([[tokens[:7], tokens[7:]]], 16)


def _hidden(decoder: Decoder) -> Tensor:
    with torch.no_grad():
        return decoder.hidden(*inputs_of(_rows()))


def test_only_target_adapters_are_trained(directory: Path) -> None:
    """Adapters are float32."""
    decoder = _adapted_decoder(directory)

    trained = {name: p for name, p in decoder.module.named_parameters() if p.requires_grad}

    assert {name.split(".")[-4] for name in trained} == {"q_proj", "v_proj", "down_proj"}
    assert all(parameter.dtype == torch.float32 for parameter in trained.values())
    shapes = {name: tuple(tensor.shape) for name, tensor in adapter_tensors(decoder).items()}
    assert shapes == dict(adapter_shapes(decoder.architecture, LORA))


def test_new_adapters_change_nothing(directory: Path) -> None:
    assert torch.equal(_hidden(_adapted_decoder(directory, is_random=False)), _hidden(decoder_of(directory)))


def test_adapters_depend_on_seed_only(directory: Path) -> None:
    both = adapter_tensors(_adapted_decoder(directory, is_random=False))
    one = adapter_tensors(
        _adapted_decoder(directory, LORA.model_copy(update={"targets": ("v",)}), is_random=False)
    )

    other = decoder_of(directory)
    add_adapters(other, LORA, seed=1)

    assert all(torch.equal(tensor, both[name]) for name, tensor in one.items())
    assert any(not torch.equal(tensor, both[name]) for name, tensor in adapter_tensors(other).items())


def test_jax_adapters_compute_the_same(directory: Path, tmp_path: Path) -> None:
    decoder = decoder_of(directory)
    adapters = init_adapters(decoder.architecture, LORA, jax.random.key(0))
    adapters = jax.tree.map(lambda a: a + 0.1 * jax.random.normal(jax.random.key(1), a.shape), adapters)
    save_jax_adapters(tmp_path, adapters, LORA, base_model="tiny")

    load_adapters(decoder, tmp_path)

    params = load_params(directory, decoder.architecture, "float32")
    options = ForwardOptions("float32", adapter_scale=adapter_scale(LORA))
    expected = hidden_states(params, adapters, decoder.architecture, _rows(), options)
    np.testing.assert_allclose(_hidden(decoder).numpy(), np.asarray(expected), atol=1e-4, rtol=1e-4)


def test_adapters_load_in_jax_engine(directory: Path, tmp_path: Path) -> None:
    decoder = _adapted_decoder(directory)
    tensors = adapter_tensors(decoder)
    save_file(tensors, tmp_path / WEIGHTS_FILE)
    write_adapter_config(tmp_path, LORA, base_model="tiny", revision=None)

    adapters, lora = load_jax_adapters(tmp_path, decoder.architecture)

    assert lora == LORA
    a = tensors["base_model.model.model.layers.1.self_attn.v_proj.lora_A.weight"]
    np.testing.assert_array_equal(np.asarray(adapters["layers"]["v"]["a"][1]), a.numpy().T)


def test_merged_weights_match_adapters(directory: Path) -> None:
    decoder = _adapted_decoder(directory)
    merged = decoder_of(directory)

    merged.module.load_state_dict(dict(merged_weights(decoder)), strict=False)

    torch.testing.assert_close(_hidden(merged), _hidden(decoder), atol=1e-4, rtol=1e-4)


def test_dropout_is_off_in_evaluation(directory: Path) -> None:
    decoder = _adapted_decoder(directory, LORA.model_copy(update={"dropout": 0.5}))
    without = _hidden(decoder)

    decoder.module.train()

    assert not torch.equal(_hidden(decoder), without)
    decoder.module.eval()
    assert torch.equal(_hidden(decoder), without)


def test_adapters_of_other_rank_are_rejected(directory: Path, tmp_path: Path) -> None:
    other = _adapted_decoder(directory, LORA.model_copy(update={"rank": 8}))
    save_file(adapter_tensors(other), tmp_path / WEIGHTS_FILE)
    write_adapter_config(tmp_path, LORA.model_copy(update={"rank": 8}), base_model="tiny", revision=None)

    with pytest.raises(DataError, match=r"other matrices.*lora\.rank"):
        load_adapters(_adapted_decoder(directory), tmp_path)


def test_adapters_of_other_model_are_rejected(directory: Path, tmp_path: Path) -> None:
    decoder = _adapted_decoder(directory)
    tensors = adapter_tensors(decoder)
    tensors.popitem()
    save_file(tensors, tmp_path / WEIGHTS_FILE)
    write_adapter_config(tmp_path, LORA, base_model="tiny", revision=None)

    with pytest.raises(DataError, match="does not fit the model"):
        load_adapters(decoder_of(directory), tmp_path)


def test_frozen_weights_merge_as_stored(directory: Path) -> None:
    """The frozen matrices use the compute format, but merging reads the stored numbers."""
    exact = _adapted_decoder(directory)
    options = dataclasses.replace(exact.options, compute="bfloat16", is_frozen=True)
    frozen = open_decoder(exact.source, options, CPU)
    add_adapters(frozen, LORA, seed=0)
    for name, tensor in adapter_tensors(frozen).items():
        tensor.copy_(adapter_tensors(exact)[name])

    formats = {
        parameter.dtype for name, parameter in frozen.module.named_parameters() if "_proj.base" in name
    }
    assert formats == {torch.bfloat16}
    assert frozen.module.model.norm.weight.dtype == torch.float32
    expected = dict(merged_weights(exact))
    assert all(torch.equal(tensor, expected[name]) for name, tensor in merged_weights(frozen))
