"""QLoRA: quantized matrices equal those of the JAX engine and stay frozen."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from support.rows import packed_rows
from support.tiny_models import tiny_model
from support.torch_models import CPU, decoder_of, inputs_of
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from tunix_rt.base.errors import InvalidInputError, MissingExtraError
from tunix_rt.engines.jax.model.quantization import dequantize, quantize_matrix
from tunix_rt.engines.torch.model.decoder import Decoder
from tunix_rt.engines.torch.model.lora import add_adapters, merged_weights
from tunix_rt.engines.torch.model.quantization import Int8Linear, plain_weight, quantize_layers
from tunix_rt.recipes.types import LoraSection, QuantizationFormat, QuantizationSection

HAS_BITSANDBYTES = find_spec("bitsandbytes") is not None
FORMATS = [
    ("int8", 16),
    pytest.param("nf4", 32, marks=pytest.mark.skipif(not HAS_BITSANDBYTES, reason="needs bitsandbytes")),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gemma")
    tiny_model("gemma").save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def wide_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose matrices are wide enough for the blocks of bitsandbytes."""
    path = tmp_path_factory.mktemp("llama")
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1}
    config = LlamaConfig(vocab_size=96, num_attention_heads=4, num_key_value_heads=2, head_dim=16, **sizes)
    LlamaForCausalLM(config).save_pretrained(path)
    return path


def _section(format: QuantizationFormat, block_size: int) -> QuantizationSection:
    return QuantizationSection(format=format, block_size=block_size)


def _hidden(decoder: Decoder) -> Tensor:
    tokens = np.random.default_rng(0).integers(1, 96, size=12, dtype=np.int32)
    return decoder.hidden(*inputs_of(packed_rows([[tokens[:7], tokens[7:]]], 16)))


@pytest.mark.parametrize(("format", "block_size"), FORMATS)
def test_quantized_matrices_match_jax(
    format: QuantizationFormat, block_size: int, wide_directory: Path
) -> None:
    decoder = decoder_of(wide_directory)
    weight = decoder.module.model.layers[0].mlp.down_proj.weight.detach().numpy()
    section = _section(format, block_size)

    quantize_layers(decoder, section, CPU)

    actual = plain_weight(decoder.module.model.layers[0].mlp.down_proj)
    assert actual is not None
    expected = dequantize(quantize_matrix(jnp.asarray(weight.T[None]), section, "down"), jnp.float32)[0].T
    np.testing.assert_allclose(actual.numpy(), np.asarray(expected), atol=1e-6)


@pytest.mark.parametrize(("format", "block_size"), FORMATS)
def test_products_match_dequantized_matrices(
    format: QuantizationFormat, block_size: int, wide_directory: Path
) -> None:
    decoder = decoder_of(wide_directory)
    quantize_layers(decoder, _section(format, block_size), CPU)
    module = decoder.module.model.layers[0].self_attn.q_proj
    weight = plain_weight(module)
    assert weight is not None
    x = torch.randn(3, 64, requires_grad=True)

    product = module(x)
    (gradient,) = torch.autograd.grad(product.square().sum(), x)

    torch.testing.assert_close(product, x @ weight.T)
    torch.testing.assert_close(gradient, 2 * (x @ weight.T) @ weight, rtol=1e-4, atol=1e-4)


def test_int8_is_near_full_precision(directory: Path) -> None:
    quantized = decoder_of(directory)
    quantize_layers(quantized, _section("int8", 16), CPU)

    with torch.no_grad():
        difference = _hidden(quantized) - _hidden(decoder_of(directory))

    assert 0 < difference.abs().max() < 0.2


def test_adapters_train_and_merge_when_quantized(directory: Path) -> None:
    decoder = decoder_of(directory)
    quantize_layers(decoder, _section("int8", 16), CPU)
    add_adapters(decoder, LoraSection(rank=2, targets=("q", "down")), seed=0)

    _hidden(decoder).sum().backward()

    trained = {name for name, parameter in decoder.module.named_parameters() if parameter.grad is not None}
    assert trained
    assert all(".lora_" in name for name in trained)
    merged = decoder_of(directory)
    merged.module.load_state_dict(dict(merged_weights(decoder)), strict=False)
    with torch.no_grad():
        torch.testing.assert_close(_hidden(merged), _hidden(decoder), atol=1e-4, rtol=1e-4)


def test_int8_codes_and_scales() -> None:
    matrix = Int8Linear(torch.randn(32, 64), block_size=16)

    assert matrix.weight.dtype == torch.int8
    assert matrix.scales.shape == (32, 4)


def test_indivisible_block_size_is_rejected(directory: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"quantization\.block_size 24"):
        quantize_layers(decoder_of(directory), _section("int8", 24), CPU)


@pytest.mark.skipif(HAS_BITSANDBYTES, reason="bitsandbytes is installed")
def test_missing_bitsandbytes_names_extra(wide_directory: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'tunix-rt\[torch-qlora\]'"):
        quantize_layers(decoder_of(wide_directory), _section("nf4", 64), CPU)


def test_unsupported_nf4_block_size_is_rejected(directory: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"quantization\.block_size 16.*int8"):
        quantize_layers(decoder_of(directory), _section("nf4", 16), CPU)
