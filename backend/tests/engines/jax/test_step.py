"""The train step: accumulation, clipping, divergence, randomness and frozen weights of LoRA."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.programs import (
    largest_difference,
    random_batch,
    tiny_params,
    tiny_program,
    tiny_recipe,
    train,
)

from tunix_rt.engines.jax.program import Program


@pytest.fixture(scope="module")
def program() -> Program:
    return tiny_program(tiny_recipe(donate_buffers=False))


@pytest.fixture(scope="module")
def lora_program() -> Program:
    lora = {"rank": 4, "dropout": 0.2, "targets": ["q", "up"]}
    return tiny_program(tiny_recipe({"lora": lora}, mode="lora", donate_buffers=False))


def copy_to_host(tree: Any) -> Any:
    """A copy that buffer donation does not invalidate."""
    return jax.tree.map(lambda leaf: np.array(leaf), tree)


def test_accumulation_matches_whole_batch(program: Program) -> None:
    accumulating = tiny_program(tiny_recipe(gradient_accumulation_steps=4))
    params = tiny_params(program)
    whole, whole_metrics = train(program, num_steps=2, params=params)
    parts, parts_metrics = train(accumulating, num_steps=2, params=params)
    assert [float(m.loss) for m in parts_metrics] == pytest.approx(
        [float(m.loss) for m in whole_metrics], abs=1e-6
    )
    assert largest_difference(whole.optimizer_state[0].mu, parts.optimizer_state[0].mu) < 1e-6


def test_loss_is_mean_over_tokens(program: Program) -> None:
    """The micro-batches have unequal token counts, so the mean of their means is another number."""
    state, frozen = program.init_state(tiny_params(program))
    batch = random_batch()
    sums = []
    for first in range(0, 8, 2):
        mask = np.zeros_like(batch.loss_mask)
        mask[first : first + 2] = batch.loss_mask[first : first + 2]
        part = program.put_batch(replace(batch, loss_mask=mask))
        sums.append([float(x) for x in program.validation_step(state.trainable, frozen, part)])
    mean_of_means = np.mean([loss / num_tokens for loss, num_tokens in sums])
    mean = sum(loss for loss, _ in sums) / sum(num_tokens for _, num_tokens in sums)
    _, metrics = program.train_step(state, frozen, program.put_batch(batch))
    assert float(metrics.loss) == pytest.approx(mean, abs=1e-6)
    assert abs(mean_of_means - mean) > 1e-3


def test_reported_norm_precedes_clipping(program: Program) -> None:
    state, (metrics,) = train(program, num_steps=1)
    first_moments = jax.tree.leaves(state.optimizer_state[0].mu)
    norm_of_clipped = np.sqrt(sum(np.sum(np.square(leaf)) for leaf in first_moments)) / 0.1
    assert float(metrics.grad_norm) > 1.5
    assert norm_of_clipped == pytest.approx(1.0, rel=1e-4)


def test_metrics_have_learning_rate_and_tokens(program: Program) -> None:
    _, metrics = train(program, num_steps=2)
    assert [float(m.num_trained_tokens) for m in metrics] == [random_batch().num_trained_tokens] * 2
    assert float(metrics[0].learning_rate) == pytest.approx(1e-2)
    assert float(metrics[1].learning_rate) < 1e-2


def test_non_finite_step_stops_all_updates(program: Program) -> None:
    state, frozen = program.init_state(tiny_params(program))
    state, _ = program.train_step(state, frozen, program.put_batch(random_batch()))
    broken = replace(state, trainable=state.trainable | {"final_norm": jnp.full((32,), jnp.nan)})
    after, metrics = program.train_step(broken, frozen, program.put_batch(random_batch(seed=1)))
    assert int(metrics.diverged_at) == int(after.diverged_at) == 1
    repaired = replace(after, trainable=state.trainable)
    later, _ = program.train_step(repaired, frozen, program.put_batch(random_batch(seed=2)))
    assert (int(later.step), int(later.diverged_at)) == (1, 1)
    assert largest_difference(later.trainable, state.trainable) == 0
    assert largest_difference(later.optimizer_state, state.optimizer_state) == 0


def test_lora_dropout_repeats_after_resume(lora_program: Program) -> None:
    program = lora_program
    batches = [program.put_batch(random_batch(seed=index)) for index in range(4)]
    state, frozen = program.init_state(tiny_params(program))
    assert set(state.trainable["layers"]) == {"q", "up"}

    losses = []
    for index, batch in enumerate(batches):
        state, metrics = program.train_step(state, frozen, batch)
        losses.append(float(metrics.loss))
        if index == 1:
            saved = copy_to_host(state)
    resumed = jax.device_put(saved, jax.tree.map(lambda leaf: leaf.sharding, program.abstract_state))
    for index, batch in enumerate(batches[2:], start=2):
        resumed, metrics = program.train_step(resumed, frozen, batch)
        assert float(metrics.loss) == losses[index]
    assert largest_difference(resumed, state) == 0


def test_dropout_is_off_in_validation(lora_program: Program) -> None:
    program = lora_program
    state, frozen = program.init_state(tiny_params(program))
    adapters = jax.tree.map(lambda leaf: leaf + 0.3, state.trainable)
    batch = program.put_batch(random_batch())
    first, second = (replace(state, trainable=adapters, step=jnp.int32(step)) for step in (0, 1))
    losses = [float(program.train_step(each, frozen, batch)[1].loss) for each in (first, first, second)]
    loss_sum, num_tokens = program.validation_step(adapters, frozen, batch)
    assert losses[0] == losses[1]
    assert len({losses[0], losses[2], float(loss_sum) / float(num_tokens)}) == 3


def test_frozen_weights_have_no_gradients() -> None:
    """With a wide MLP, gradients of the frozen weights alone would exceed all temporaries."""
    recipe = tiny_recipe({"lora": {"rank": 2}}, mode="lora", batch_size=1)
    program = tiny_program(recipe, hidden_size=256, intermediate_size=8192)
    compiled = program.train_step.lower(
        program.abstract_state, program.abstract_frozen, program.abstract_batch
    ).compile()
    frozen_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(program.abstract_frozen))
    assert compiled.memory_analysis().temp_size_in_bytes < 0.8 * frozen_bytes


def test_qlora_loss_decreases() -> None:
    sections = {"lora": {"rank": 4}, "quantization": {"format": "nf4", "block_size": 16}}
    program = tiny_program(tiny_recipe(sections, mode="qlora"))
    state, frozen = program.init_state(tiny_params(program))
    assert frozen["layers"]["up"].codes.dtype == jnp.uint8
    batch = program.put_batch(random_batch())
    losses = []
    for _ in range(4):
        state, metrics = program.train_step(state, frozen, batch)
        losses.append(float(metrics.loss))
    assert losses[-1] < losses[0] - 0.01
