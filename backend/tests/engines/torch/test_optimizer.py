"""AdamW and Adafactor against torch and transformers, skipped updates, and the dtypes of their states."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers.optimization import Adafactor as TransformersAdafactor

from tunix_rt.engines.torch.training.optimizer import Adafactor, AdamW, Optimizer, TrainedWeight, Update
from tunix_rt.engines.torch.training.step import generator
from tunix_rt.recipes.types import Adafactor as AdafactorSettings
from tunix_rt.recipes.types import AdamW as AdamWSettings

CPU = torch.device("cpu")
SHAPES = {"embed_tokens.weight": (6, 4), "up_proj.weight": (5, 4), "norm.weight": (4,)}
NUM_STEPS = 5
ADAMW = AdamWSettings(weight_decay=0.1, beta1=0.8, beta2=0.95, epsilon=1e-6)
ADAFACTOR = AdafactorSettings(decay_rate=0.7, clipping_threshold=0.9, weight_decay=0.1)


def random_tensors(seed: int) -> list[Tensor]:
    noise = generator(CPU, seed)
    return [torch.randn(shape, generator=noise) for shape in SHAPES.values()]


def make_weights(dtype: torch.dtype = torch.float32) -> list[TrainedWeight]:
    parameters = [nn.Parameter(tensor.to(dtype)) for tensor in random_tensors(seed=0)]
    return [
        TrainedWeight(name, parameter, parameter.data)
        for name, parameter in zip(SHAPES, parameters, strict=True)
    ]


def gradients_at(step: int) -> list[Tensor]:
    return [tensor * (step + 1) for tensor in random_tensors(seed=step + 1)]


def make_update(step: int = 0, **changes: Any) -> Update:
    values = {
        "learning_rate": 0.01,
        "gradient_divisor": torch.tensor(1.0),
        "is_skipped": torch.tensor(0.0),
        "weight_noise": None,
        "moment_noise": generator(CPU, step),
    }
    return Update(**(values | changes))


def train(optimizer: Optimizer) -> None:
    for step in range(NUM_STEPS):
        optimizer.update(gradients_at(step), make_update(step))


def train_reference(make: Callable[[list[dict[str, Any]]], torch.optim.Optimizer]) -> list[Tensor]:
    *matrices, norm = (nn.Parameter(tensor) for tensor in random_tensors(seed=0))
    optimizer = make([{"params": matrices, "weight_decay": 0.1}, {"params": [norm], "weight_decay": 0.0}])
    for step in range(NUM_STEPS):
        for parameter, gradient in zip((*matrices, norm), gradients_at(step), strict=True):
            parameter.grad = gradient
        optimizer.step()
    return [parameter.detach() for parameter in (*matrices, norm)]


def adamw(weights: list[TrainedWeight]) -> Optimizer:
    return AdamW(weights, ADAMW, torch.float32)


def adafactor(weights: list[TrainedWeight]) -> Optimizer:
    return Adafactor(weights, ADAFACTOR)


both_optimizers = pytest.mark.parametrize("make", [adamw, adafactor])


def test_adamw_matches_torch() -> None:
    weights = make_weights()
    train(adamw(weights))
    reference = train_reference(
        lambda groups: torch.optim.AdamW(groups, lr=0.01, betas=(0.8, 0.95), eps=1e-6)
    )
    for weight, expected in zip(weights, reference, strict=True):
        torch.testing.assert_close(weight.stored, expected, rtol=1e-6, atol=1e-6)


def test_adafactor_matches_transformers() -> None:
    weights = make_weights()
    train(adafactor(weights))
    reference = train_reference(
        lambda groups: TransformersAdafactor(
            groups, lr=0.01, scale_parameter=False, relative_step=False, decay_rate=-0.7, clip_threshold=0.9
        )
    )
    for weight, expected in zip(weights, reference, strict=True):
        torch.testing.assert_close(weight.stored, expected, rtol=1e-5, atol=1e-6)


def test_grouped_update_matches_whole_update() -> None:
    whole, cut = make_weights(), make_weights()
    train(adamw(whole))
    train(AdamW(cut, ADAMW, torch.float32, group_size=7))
    for one, other in zip(whole, cut, strict=True):
        torch.testing.assert_close(one.stored, other.stored, rtol=1e-6, atol=1e-7)


@both_optimizers
def test_gradient_divisor_is_applied(make: Callable[..., Optimizer]) -> None:
    plain, scaled = make_weights(), make_weights()
    make(plain).update(gradients_at(0), make_update())
    sums = [gradient * 8 for gradient in gradients_at(0)]
    make(scaled).update(sums, make_update(gradient_divisor=torch.tensor(8.0)))
    for one, other in zip(plain, scaled, strict=True):
        torch.testing.assert_close(one.stored, other.stored, rtol=1e-6, atol=1e-7)


@both_optimizers
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_before", [0, 2])
def test_skipped_update_changes_nothing(
    make: Callable[..., Optimizer], dtype: torch.dtype, num_before: int
) -> None:
    weights = make_weights(dtype)
    optimizer = make(weights)
    for step in range(num_before):
        optimizer.update(gradients_at(step), make_update(step))
    before = {name: tensor.clone() for name, tensor in full_state(weights, optimizer).items()}
    broken = [torch.full_like(gradient, torch.nan) for gradient in gradients_at(0)]
    noise = generator(CPU, 9)
    optimizer.update(broken, make_update(is_skipped=torch.tensor(1.0), weight_noise=noise))
    for name, tensor in full_state(weights, optimizer).items():
        assert torch.equal(tensor, before[name]), name


def full_state(weights: list[TrainedWeight], optimizer: Optimizer) -> dict[str, Tensor]:
    return optimizer.state() | {weight.name: weight.stored for weight in weights}


def test_adafactor_state_is_factored_and_float32() -> None:
    state = adafactor(make_weights(torch.bfloat16)).state()
    assert (state["rows.up_proj.weight"].shape, state["columns.up_proj.weight"].shape) == ((5,), (4,))
    assert state["squares.norm.weight"].shape == (4,)
    assert {tensor.dtype for tensor in state.values()} == {torch.float32}


def test_adamw_moments_use_configured_dtype() -> None:
    state = AdamW(make_weights(), ADAMW, torch.bfloat16).state()
    formats = {tensor.dtype for name, tensor in state.items() if "moments" in name}
    assert formats == {torch.bfloat16}


def test_bfloat16_second_moments_forget_large_gradients() -> None:
    """Rounding to the nearest would turn 0.999 x into x, and the moment would never decay."""
    moments = {}
    for dtype in (torch.float32, torch.bfloat16):
        parameter = nn.Parameter(torch.zeros(64, 64))
        optimizer = AdamW([TrainedWeight("up", parameter, parameter.data)], AdamWSettings(), dtype)
        optimizer.update([torch.full((64, 64), 100.0)], make_update())
        for step in range(1, 201):
            optimizer.update([torch.zeros(64, 64)], make_update(step))
        moments[dtype] = optimizer.state()["second_moments.up"].float().mean().item()
    assert moments[torch.float32] == pytest.approx(10 * 0.999**200, rel=1e-3)
    assert moments[torch.bfloat16] == pytest.approx(moments[torch.float32], rel=0.01)


def test_stochastic_rounding_keeps_small_updates() -> None:
    change = {}
    for is_random in (True, False):
        parameter = nn.Parameter(torch.ones(100, 100, dtype=torch.bfloat16))
        optimizer = AdamW([TrainedWeight("up", parameter, parameter.data)], AdamWSettings(), torch.float32)
        for step in range(10):
            noise = generator(CPU, 1, step) if is_random else None
            update = make_update(step, learning_rate=1e-4, weight_noise=noise)
            optimizer.update([torch.ones(100, 100)], update)
        change[is_random] = 1 - parameter.float().mean().item()
    assert change[True] == pytest.approx(1e-3, rel=0.1)
    assert change[False] == 0
