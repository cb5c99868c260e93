"""What only a GPU runs gives the numbers that a CPU gives. Needs one: pytest -m gpu."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tunix_rt.engines.torch.attention import (
    Borders,
    causal_mask,
    cudnn_attention,
    dense_attention,
    sdpa_attention,
    segment_borders,
    varlen_attention,
)
from tunix_rt.engines.torch.loss import chunked_loss

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]

SEGMENTS = torch.tensor([[1] * 40 + [2] * 70 + [3] + [0] * 17, [1] * 128])


def _heads(num_heads: int) -> Tensor:
    return torch.randn(2, num_heads, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)


def _relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found.float() - expected.float()).norm() / expected.float().norm())


@pytest.mark.parametrize("kernel", ["varlen", "sdpa", "cudnn"])
@pytest.mark.parametrize("window", [None, 24])
def test_every_kernel_attends_as_the_dense_one_does(kernel: str, window: int | None) -> None:
    torch.manual_seed(0)
    heads = (_heads(8), _heads(2), _heads(2))
    mask = causal_mask(SEGMENTS, window).cuda()
    weights = torch.randn(2, 128, 8, 64, device="cuda")

    def with_gradients(attention: Any, mask: Tensor | None, **settings: Any) -> list[Tensor]:
        attended, _ = attention(None, *heads, mask, scaling=0.2, **settings)
        return [attended, *torch.autograd.grad((attended.float() * weights).sum(), heads)]

    expected = with_gradients(dense_attention, mask)
    if kernel == "varlen":
        places, longest = segment_borders(SEGMENTS)
        borders = Borders(places.cuda(), longest)
        found = with_gradients(varlen_attention, None, borders=borders, sliding_window=window)
    else:
        found = with_gradients(sdpa_attention if kernel == "sdpa" else cudnn_attention, mask)

    assert [_relative_error(*pair) < 2e-2 for pair in zip(found, expected, strict=True)] == [True] * 4


@pytest.mark.parametrize("softcap", [None, 3.0])
def test_the_compiled_loss_is_the_loss(softcap: float | None) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(37, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    head = torch.randn(500, 64, device="cuda", requires_grad=True)
    targets = torch.randint(500, (37,), device="cuda")
    mask = torch.ones(37, device="cuda")
    found, expected = (
        chunked_loss(hidden, head, targets, mask, chunk_tokens=16, softcap=softcap, is_compiled=is_compiled)
        for is_compiled in (True, False)
    )

    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    for one, other in zip(
        torch.autograd.grad(found, (hidden, head)), torch.autograd.grad(expected, (hidden, head)), strict=True
    ):
        assert _relative_error(one, other) < 1e-2
