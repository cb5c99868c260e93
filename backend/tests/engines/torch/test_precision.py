"""Number formats: small updates, working copies of the weights, and seeded random streams."""

import pytest
import torch
from torch import Tensor, nn

from tunix_rt.engines.torch.training.optimizer import (
    refresh_working_copies,
    round_stochastically,
    trained_weights,
    write_rounded,
)
from tunix_rt.engines.torch.training.step import generator, seeded

CPU = torch.device("cpu")


class TinyLayer(nn.Module):
    """One parameter of each kind that a decoder has, under its names."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(4, 2)
        self.up_proj = nn.Linear(2, 3, bias=False)
        self.norm = nn.RMSNorm(2)
        self.frozen = nn.Linear(2, 2, bias=False).requires_grad_(False)


def noise(*names: int | str) -> torch.Generator:
    return generator(CPU, 0, *names)


@pytest.mark.parametrize("sign", [1, -1])
def test_stochastic_rounding_is_unbiased(sign: int) -> None:
    values = torch.full((100_000,), sign * (1 + 2**-9))  # A quarter of the way from 1 to 1 + 2**-7.
    rounded = round_stochastically(values, noise()).float()
    assert set(rounded.unique().tolist()) == {sign, sign * (1 + 2**-7)}
    assert rounded.mean().item() == pytest.approx(sign * (1 + 2**-9), abs=1e-4)


def test_stochastic_rounding_keeps_exact_values() -> None:
    values = torch.tensor([0.0, -1.5, 3.0, torch.inf, -torch.inf, torch.nan])
    torch.testing.assert_close(
        round_stochastically(values, noise()).float(), values, rtol=0, atol=0, equal_nan=True
    )


def weight_changes(weight_format: torch.dtype, *, is_random: bool = False) -> Tensor:
    """The changes of many random weights after 20 updates of 1e-5."""
    start = torch.randn(100, 1000, generator=noise("start")).bfloat16().float()
    weights = start.to(weight_format, copy=True)
    for step in range(20):
        write_rounded(weights, weights.float() + 1e-5, noise(step) if is_random else None)
    return weights.float() - start


def test_small_updates_move_float32_weights() -> None:
    assert weight_changes(torch.float32).gt(0).float().mean() > 0.99
    assert weight_changes(torch.float32).mean().item() == pytest.approx(20e-5, rel=0.01)


def test_small_updates_are_lost_in_bfloat16() -> None:
    assert weight_changes(torch.bfloat16).gt(0).float().mean() < 0.05


def test_stochastic_rounding_keeps_small_updates() -> None:
    assert weight_changes(torch.bfloat16, is_random=True).mean().item() == pytest.approx(20e-5, rel=0.1)


def test_only_matrices_compute_in_bfloat16() -> None:
    module = TinyLayer()
    weights = {weight.name: weight for weight in trained_weights(module, torch.bfloat16)}
    assert module.up_proj.weight.dtype == torch.bfloat16
    assert module.norm.weight.dtype == module.embed_tokens.weight.dtype == torch.float32
    assert {weight.stored.dtype for weight in weights.values()} == {torch.float32}
    assert "frozen.weight" not in weights


def test_working_copies_follow_stored_weights() -> None:
    module = TinyLayer()
    weights = trained_weights(module, torch.bfloat16)
    for weight in weights:
        weight.stored.fill_(0.1)
    refresh_working_copies(weights)
    assert module.up_proj.weight.unique().tolist() == [torch.tensor(0.1).bfloat16().item()]
    assert module.embed_tokens.weight.unique().tolist() == [torch.tensor(0.1).item()]


def test_bfloat16_weights_get_float32_copy() -> None:
    module = TinyLayer().to(torch.bfloat16)
    weights = {weight.name: weight for weight in trained_weights(module, torch.float32)}
    assert module.up_proj.weight.dtype == torch.float32
    assert weights["up_proj.weight"].stored.dtype == torch.bfloat16


def test_seeded_stream_is_isolated() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    with seeded(CPU, 0, "dropout", 7):
        first = torch.rand(3)
    with seeded(CPU, 0, "dropout", 8):
        second = torch.rand(3)
    with seeded(CPU, 0, "dropout", 7):
        again = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
