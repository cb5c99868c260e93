"""Every family matches the hidden states of the JAX engine and the logits of transformers in float32."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from support.rows import packed_rows
from support.tiny_models import CONFIGS, tiny_model
from support.torch_models import decoder_of, inputs_of

from tunix_rt.engines.jax.model.decoder import ForwardOptions, hidden_states
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.planning.kernels import TorchKernel

ROW_LENGTH = 24
LENGTHS = (11, 3, 8, ROW_LENGTH)  # Shorter and longer than the sliding windows of the models.


def _rows() -> list[list[Any]]:
    rng = np.random.default_rng(0)
    first, second, third, long = (rng.integers(1, 96, size=length, dtype=np.int32) for length in LENGTHS)
    return [[first, second, third], [long], [third]]


@pytest.mark.parametrize("name", CONFIGS)
def test_hidden_states_match_jax(name: str, tmp_path: Path) -> None:
    tiny_model(name).save_pretrained(tmp_path)
    kernel: TorchKernel = "dense" if name == "gemma2" else "sdpa"
    decoder = decoder_of(tmp_path, kernel=kernel)
    inputs = packed_rows(_rows(), ROW_LENGTH)

    with torch.no_grad():
        actual = decoder.hidden(*inputs_of(inputs)).numpy()

    params = load_params(tmp_path, decoder.architecture, "float32")
    expected = hidden_states(params, None, decoder.architecture, inputs, ForwardOptions("float32"))
    np.testing.assert_allclose(actual, np.asarray(expected), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["gemma2", "gemma3", "llama"])
def test_packed_logits_match_transformers(name: str, tmp_path: Path) -> None:
    model = tiny_model(name)
    model.save_pretrained(tmp_path)
    decoder = decoder_of(tmp_path, kernel="dense")
    rows = _rows()

    with torch.no_grad():
        hidden = decoder.hidden(*inputs_of(packed_rows(rows, ROW_LENGTH)))
        logits = hidden @ decoder.head_weight().T
        expected = model(torch.from_numpy(rows[0][2][None]).long()).logits[0]
    cap = decoder.architecture.final_softcap
    logits = logits if cap is None else cap * torch.tanh(logits / cap)

    torch.testing.assert_close(logits[0, 14:22], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["gemma", "qwen3-window"])
def test_fused_and_dense_attention_agree(name: str, tmp_path: Path) -> None:
    tiny_model(name).save_pretrained(tmp_path)
    inputs = inputs_of(packed_rows(_rows(), ROW_LENGTH))

    with torch.no_grad():
        dense, fused = (decoder_of(tmp_path, kernel=kernel).hidden(*inputs) for kernel in ("dense", "sdpa"))

    torch.testing.assert_close(dense, fused, atol=1e-5, rtol=1e-5)


def test_mixed_precision_is_near_float32(tmp_path: Path) -> None:
    """The matrices are bfloat16; the norms and the embedding are float32."""
    tiny_model("llama").save_pretrained(tmp_path)
    decoder = decoder_of(tmp_path, compute="bfloat16")
    for name, parameter in decoder.module.model.layers.named_parameters():
        if "norm" not in name:
            parameter.data = parameter.data.bfloat16()
    inputs = packed_rows(_rows(), ROW_LENGTH)

    with torch.no_grad():
        actual = decoder.hidden(*inputs_of(inputs))

    params = load_params(tmp_path, decoder.architecture, "float32")
    exact = hidden_states(params, None, decoder.architecture, inputs, ForwardOptions("float32"))
    assert actual.dtype == torch.bfloat16
    np.testing.assert_allclose(actual.float().numpy(), np.asarray(exact), atol=0.15)


def test_gemma_embedding_scale_is_rounded(tmp_path: Path) -> None:
    model = tiny_model("gemma")
    model.save_pretrained(tmp_path)
    tokens = torch.arange(8)[None]

    actual = decoder_of(tmp_path, compute="bfloat16").embed(tokens)

    with torch.no_grad():
        expected = model.to(torch.bfloat16).get_input_embeddings()(tokens)
    assert jnp.array_equal(actual.detach().float().numpy(), expected.float().numpy())
