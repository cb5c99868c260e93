"""The learning rate of every update, compared with the JAX engine."""

from typing import Any

import pytest
from support.programs import tiny_recipe

from tunix_rt.engines.jax.training.optimizer import learning_rate_at as jax_learning_rate_at
from tunix_rt.engines.torch.training.step import learning_rate_at

NUM_STEPS = 12


def learning_rates(num_steps: int, **keys: Any) -> list[float]:
    at = learning_rate_at(tiny_recipe(learning_rate=1.0, **keys).training, num_steps)
    return [at(step) for step in range(num_steps)]


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("num_warmup", [0, 3])
def test_schedules_match_jax(schedule: str, num_warmup: int) -> None:
    keys = {"schedule": schedule, "warmup_steps": num_warmup, "learning_rate": 3e-4}
    if schedule != "constant":
        keys["final_learning_rate_fraction"] = 0.1
    training = tiny_recipe(**keys).training
    torch_rate, jax_rate = learning_rate_at(training, NUM_STEPS), jax_learning_rate_at(training, NUM_STEPS)
    steps = range(NUM_STEPS + 2)
    assert [torch_rate(step) for step in steps] == pytest.approx(
        [float(jax_rate(step)) for step in steps], rel=1e-5
    )


def test_warmup_and_decay_are_never_zero() -> None:
    rates = learning_rates(5, warmup_steps=2, schedule="linear")
    assert rates == pytest.approx([1 / 3, 2 / 3, 1, 2 / 3, 1 / 3])


def test_single_step_uses_peak_rate() -> None:
    assert learning_rates(1, schedule="cosine") == [1.0]
