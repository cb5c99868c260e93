"""GPU kernels match their plain implementations. Needs a GPU: pytest -m gpu."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.programs import random_batch, tiny_recipe
from support.torch_steps import losses, train
from torch import Tensor

from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.model.attention import (
    SegmentBounds,
    causal_mask,
    cudnn_attention,
    dense_attention,
    sdpa_attention,
    segment_bounds,
    varlen_attention,
)
from tunix_rt.engines.torch.model.compiled import has_liger
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.loss import chunked_loss
from tunix_rt.engines.torch.training.step import TrainStep
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.architecture import architecture_from_config
from tunix_rt.engines.weights.sources import ModelSource
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 2048,
}
GEMMA: dict[str, Any] = LLAMA | {"model_type": "gemma"}
LORA = {"lora": {"rank": 4, "targets": ["q", "up"]}}
SEGMENTS = torch.tensor([[1] * 40 + [2] * 70 + [3] + [0] * 17, [1] * 128])


def _heads(num_heads: int) -> Tensor:
    return torch.randn(2, num_heads, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)


def _relative_error(actual: Tensor, expected: Tensor) -> float:
    return float((actual.float() - expected.float()).norm() / expected.float().norm())


@pytest.mark.parametrize("kernel", ["varlen", "sdpa", "cudnn"])
@pytest.mark.parametrize("window", [None, 24])
def test_kernels_match_dense_attention(kernel: str, window: int | None) -> None:
    torch.manual_seed(0)
    heads = (_heads(8), _heads(2), _heads(2))
    mask = causal_mask(SEGMENTS, window).cuda()
    weights = torch.randn(2, 128, 8, 64, device="cuda")

    def with_gradients(attention: Any, mask: Tensor | None, **settings: Any) -> list[Tensor]:
        attended, _ = attention(None, *heads, mask, scaling=0.2, **settings)
        return [attended, *torch.autograd.grad((attended.float() * weights).sum(), heads)]

    expected = with_gradients(dense_attention, mask)
    if kernel == "varlen":
        cu_seqlens, max_seqlen = segment_bounds(SEGMENTS)
        bounds = SegmentBounds(cu_seqlens.cuda(), max_seqlen)
        actual = with_gradients(varlen_attention, None, bounds=bounds, sliding_window=window)
    else:
        actual = with_gradients(sdpa_attention if kernel == "sdpa" else cudnn_attention, mask)

    assert [_relative_error(*pair) < 2e-2 for pair in zip(actual, expected, strict=True)] == [True] * 4


@pytest.mark.parametrize("softcap", [None, 3.0])
def test_compiled_loss_matches_eager(softcap: float | None) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(37, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    head = torch.randn(500, 64, device="cuda", requires_grad=True)
    targets = torch.randint(500, (37,), device="cuda")
    mask = torch.ones(37, device="cuda")
    actual, expected = (
        chunked_loss(hidden, head, targets, mask, chunk_tokens=16, softcap=softcap, is_compiled=is_compiled)
        for is_compiled in (True, False)
    )

    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-4)
    for one, other in zip(
        torch.autograd.grad(actual, (hidden, head)),
        torch.autograd.grad(expected, (hidden, head)),
        strict=True,
    ):
        assert _relative_error(one, other) < 1e-2


def _gpu_step(recipe: Recipe, config: dict[str, Any], *, num_steps: int) -> TrainStep:
    source = ModelSource("tiny", architecture_from_config(config), config, directory=None, revision=None)
    device = choose_device(DeviceRequest("gpu"))
    return TrainStep(load_decoder(source, recipe, device), recipe, num_steps, device.device)


def test_cuda_graph_matches_eager() -> None:
    recipe = tiny_recipe(
        LORA, mode="lora", gradient_accumulation_steps=2, remat="none", precision={"compute": "bfloat16"}
    )
    steps = [_gpu_step(recipe, LLAMA, num_steps=100) for _ in range(2)]
    assert all(step.uses_cuda_graph for step in steps)
    steps[1]._hidden = steps[1]._decoder.hidden

    replayed, computed = (losses(train(step, 5)) for step in steps)

    assert replayed == pytest.approx(computed, rel=2e-3)


def test_cuda_graph_recaptures_larger_bounds() -> None:
    recipe = tiny_recipe(
        LORA | {"data": {"row_length": 1024}},
        mode="lora",
        gradient_accumulation_steps=2,
        remat="dots",
        precision={"compute": "bfloat16"},
    )
    steps = [_gpu_step(recipe, LLAMA, num_steps=100) for _ in range(2)]
    steps[1]._hidden = steps[1]._decoder.hidden
    lengths = (100, 600, 2, 100)

    replayed, computed = (
        [
            float(step.run(step.put_batch(_examples_of(length)), index).loss)
            for index, length in enumerate(lengths)
        ]
        for step in steps
    )

    assert replayed == pytest.approx(computed, rel=2e-3)


def _examples_of(length: int) -> Batch:
    """Rows of examples of equal length, and some padding."""
    batch = random_batch(num_rows=4, row_length=1024)
    columns = np.tile(np.arange(1024, dtype=np.int32), (4, 1))
    is_padding = columns >= 900
    segment_ids = np.where(is_padding, 0, columns // length + 1).astype(np.int32)
    return replace(
        batch,
        segment_ids=segment_ids,
        positions=np.where(is_padding, 0, columns % length).astype(np.int32),
        loss_mask=np.where(is_padding, 0, 1).astype(np.uint8),
    )


@pytest.mark.skipif(not has_liger(), reason="needs liger-kernel")
@pytest.mark.parametrize("config", [LLAMA, GEMMA], ids=["llama", "gemma"])
def test_liger_matches_plain_kernels(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny_recipe()
    with_liger = _gpu_step(recipe, config, num_steps=10)
    monkeypatch.setattr("tunix_rt.engines.torch.model.compiled.find_spec", lambda name: None)
    without = _gpu_step(recipe, config, num_steps=10)
    assert (with_liger.liger.is_on, without.liger.is_on) == (True, False)

    assert losses(train(with_liger, 5)) == pytest.approx(losses(train(without, 5)), rel=1e-4)
