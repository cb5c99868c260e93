"""The train step: accumulation, clipping, divergence, resuming, dropout and precision."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.programs import random_batch, tiny_recipe
from support.torch_models import CPU
from support.torch_steps import copied, largest_difference, losses, tiny_source, tiny_step, train
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tunix_rt.engines.torch.devices import choose_device
from tunix_rt.engines.torch.model.lora import adapter_tensors
from tunix_rt.engines.torch.start import load_decoder
from tunix_rt.engines.torch.training.batches import GradientSums, GraphGradientSums
from tunix_rt.engines.torch.training.optimizer import TrainedWeight
from tunix_rt.engines.torch.training.step import NOT_DIVERGED, TrainStep
from tunix_rt.engines.types import DeviceRequest

LORA = {"lora": {"rank": 4, "dropout": 0.2, "targets": ["q", "up"]}}
BFLOAT16_WEIGHTS = {
    "compute": "bfloat16",
    "weights": "bfloat16",
    "optimizer_state": "bfloat16",
    "stochastic_rounding": True,
}


class NoHostSync(TorchDispatchMode):
    """Fails on operations that make the host wait for a device; it detects them on the CPU too."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in ("_local_scalar_dense", "nonzero", "masked_select", "equal"), name
        return func(*args, **(kwargs or {}))


def first_moments(step: TrainStep) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in step.state_dict().items() if name.startswith("first_moments.")}


def assert_resume_is_bit_equal(uninterrupted: TrainStep, resumed: TrainStep) -> None:
    """Train for 4 steps, once without a break and once from the state after 2 steps."""
    train(uninterrupted, 2)
    saved = copied(uninterrupted.state_dict())
    expected = losses(train(uninterrupted, 2, first=2))

    resumed.load_state_dict(saved)
    assert losses(train(resumed, 2, first=2)) == expected
    assert largest_difference(resumed.state_dict(), uninterrupted.state_dict()) == 0


def test_accumulation_matches_whole_batch() -> None:
    whole, parts = tiny_step(tiny_recipe()), tiny_step(tiny_recipe(gradient_accumulation_steps=4))
    whole_metrics, parts_metrics = train(whole, 2), train(parts, 2)
    assert losses(parts_metrics) == pytest.approx(losses(whole_metrics), abs=1e-6)
    assert largest_difference(first_moments(whole), first_moments(parts)) < 1e-6


def test_loss_is_the_token_mean() -> None:
    """The micro-batches are unequal, so a mean of their means would differ."""
    step, batch = tiny_step(tiny_recipe()), random_batch()
    sums = []
    for first in range(0, 8, 2):
        mask = np.zeros_like(batch.loss_mask)
        mask[first : first + 2] = batch.loss_mask[first : first + 2]
        sums.append([float(x) for x in step.validation_sums(step.put_batch(replace(batch, loss_mask=mask)))])
    mean_of_means = np.mean([loss / num_tokens for loss, num_tokens in sums])
    mean = sum(loss for loss, _ in sums) / sum(num_tokens for _, num_tokens in sums)
    (metrics,) = train(step, 1)
    assert float(metrics.loss) == pytest.approx(mean, abs=1e-6)
    assert abs(mean_of_means - mean) > 1e-3


def test_bfloat16_gradients_sum_in_float32() -> None:
    parameter = nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16))
    sums = GradientSums([TrainedWeight("up", parameter, parameter.data)], num_micro_batches=9)
    for factor in (1.0, *[2**-9] * 8):  # In bfloat16, 1 + 2**-9 is 1.
        (parameter * factor).sum().backward()  # type: ignore[no-untyped-call]
    (gradient,) = sums.take()
    assert gradient.dtype == torch.float32
    assert gradient.unique().tolist() == [1 + 8 * 2**-9]
    assert parameter.grad is None


def test_graph_gradients_sum_in_float32() -> None:
    torch.manual_seed(0)
    shapes = ((3, 2), (5,), (2, 4))
    parameters = [nn.Parameter(torch.ones(shape, dtype=torch.bfloat16)) for shape in shapes]
    passes = [[torch.randn(shape, dtype=torch.bfloat16) for shape in shapes] for _ in range(4)]
    sums = GraphGradientSums(
        [TrainedWeight(str(index), each, each.data) for index, each in enumerate(parameters)]
    )
    for _ in range(2):  # the second time, the sums start from zero
        for gradients in passes:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient.clone()
            sums.add()
        for taken, *added in zip(sums.take(), *passes, strict=True):
            assert torch.equal(taken, sum((gradient.float() for gradient in added), torch.zeros(())))
    assert [parameter.grad for parameter in parameters] == [None] * 3


def test_reported_norm_is_before_clipping() -> None:
    step = tiny_step(tiny_recipe(max_grad_norm=0.1))
    (metrics,) = train(step, 1)
    norm_of_clipped = torch.stack([tensor.norm() for tensor in first_moments(step).values()]).norm() / 0.1
    assert float(metrics.grad_norm) > 0.2
    assert float(norm_of_clipped) == pytest.approx(0.1, rel=1e-4)


def test_metrics_report_rate_and_trained_tokens() -> None:
    metrics = train(tiny_step(tiny_recipe()), 2)
    assert [each.num_trained_tokens for each in metrics] == [random_batch().num_trained_tokens] * 2
    assert metrics[0].learning_rate == pytest.approx(1e-2)
    assert metrics[1].learning_rate < 1e-2


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_non_finite_step_stops_all_updates(optimizer: str) -> None:
    step = tiny_step(tiny_recipe(optimizer=optimizer))
    train(step, 1)
    before = copied(step.state_dict())
    norm = step.stored_weights()["model.norm.weight"]
    norm.fill_(torch.nan)
    broken = train(step, 1, first=1)
    norm.copy_(before["weights.model.norm.weight"])
    later = train(step, 1, first=2)
    assert [int(metrics[0].diverged_at) for metrics in (broken, later)] == [1, 1]
    assert largest_difference(step.state_dict(), before) == 0

    step.load_state_dict(before)
    (metrics,) = train(step, 1, first=1)
    assert int(metrics.diverged_at) == NOT_DIVERGED
    assert largest_difference(step.state_dict(), before) > 0


def test_untrained_batch_changes_no_weight() -> None:
    step, batch = tiny_step(tiny_recipe()), random_batch()
    before = copied(step.stored_weights())
    empty = step.put_batch(replace(batch, loss_mask=np.zeros_like(batch.loss_mask)))
    metrics = step.run(empty, 0)
    assert (float(metrics.loss), metrics.num_trained_tokens) == (0, 0)
    assert largest_difference(step.stored_weights(), before) == 0


@pytest.mark.parametrize("precision", [{"compute": "float32"}, BFLOAT16_WEIGHTS])
@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_resume_is_bit_equal(precision: dict[str, Any], optimizer: str) -> None:
    if optimizer == "adafactor":
        precision = {key: value for key, value in precision.items() if key != "optimizer_state"}
    recipe = tiny_recipe(precision=precision, optimizer=optimizer)
    assert_resume_is_bit_equal(tiny_step(recipe), tiny_step(recipe))


def test_small_updates_accumulate_in_master_weights() -> None:
    step = tiny_step(tiny_recipe(learning_rate=1e-6, precision={"compute": "bfloat16"}))
    before = copied(step.stored_weights())
    train(step, 5)
    name = "model.layers.0.mlp.up_proj.weight"
    change = (step.stored_weights()[name] - before[name]).abs()
    assert 2e-6 < float(change.mean()) < 6e-6
    assert step.stored_weights()[name].dtype == torch.float32


def test_bfloat16_is_near_float32() -> None:
    exact = losses(train(tiny_step(tiny_recipe()), 3))
    for precision in ({"compute": "bfloat16"}, BFLOAT16_WEIGHTS):
        for parts in (1, 4):
            recipe = tiny_recipe(precision=precision, gradient_accumulation_steps=parts)
            assert losses(train(tiny_step(recipe), 3)) == pytest.approx(exact, abs=0.03)


@pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
def test_step_never_waits_for_device(optimizer: str) -> None:
    step = tiny_step(tiny_recipe(optimizer=optimizer, gradient_accumulation_steps=2))
    batch = step.put_batch(random_batch())
    with NoHostSync():
        step.run(batch, 0)
        step.run(batch, 1)


def lora_step(**training: Any) -> TrainStep:
    """A step with non-zero adapters, so that dropout changes the loss."""
    step = tiny_step(tiny_recipe(LORA, mode="lora", **training))
    step.load_state_dict({name: tensor + 0.3 for name, tensor in step.state_dict().items()})
    return step


def test_lora_dropout_repeats_after_resume() -> None:
    uninterrupted, resumed = (lora_step(gradient_accumulation_steps=2) for _ in range(2))
    assert {name.split(".")[-3] for name in uninterrupted.stored_weights()} == {"lora_A", "lora_B"}
    assert_resume_is_bit_equal(uninterrupted, resumed)


def test_dropout_varies_and_skips_validation() -> None:
    batch = lora_step().put_batch(random_batch())
    first, again, second = (float(lora_step().run(batch, index).loss) for index in (0, 0, 1))
    loss_sum, num_tokens = lora_step().validation_sums(batch)
    assert first == again
    assert len({first, second, float(loss_sum) / float(num_tokens)}) == 3


def test_adapters_compute_in_bfloat16() -> None:
    """`restore_stored_weights` returns them to float32."""
    recipe = tiny_recipe(LORA, mode="lora", precision={"compute": "bfloat16"})
    decoder = load_decoder(tiny_source(), recipe, choose_device(DeviceRequest("cpu")))
    step = TrainStep(decoder, recipe, 10, CPU)
    train(step, 1)
    assert {tensor.dtype for tensor in adapter_tensors(decoder).values()} == {torch.bfloat16}
    step.restore_stored_weights()
    assert {tensor.dtype for tensor in adapter_tensors(decoder).values()} == {torch.float32}


def test_qlora_reduces_loss() -> None:
    sections = {"lora": {"rank": 4}, "quantization": {"format": "int8", "block_size": 16}}
    step = tiny_step(tiny_recipe(sections, mode="qlora"))
    batch = step.put_batch(random_batch())
    measured = losses([step.run(batch, index) for index in range(4)])
    assert all(".lora_" in name for name in step.stored_weights())
    assert measured[-1] < measured[0] - 0.01
