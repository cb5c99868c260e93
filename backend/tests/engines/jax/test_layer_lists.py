"""Unstacked frozen layers: the unrolled program of a GPU, run on CPU."""

from typing import Any

import jax
import numpy as np
import pytest
from support.programs import random_batch, tiny_architecture, tiny_params, tiny_recipe

from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.types import Platform


def _program(platform: Platform, mode: str, **sections: Any) -> Program:
    recipe = tiny_recipe(sections, mode=mode, attention="dense", remat="dots")
    mesh = make_mesh(recipe.sharding, jax.devices()[:1])
    return build_program(recipe, tiny_architecture(), mesh, num_steps=10, platform=platform)


@pytest.mark.parametrize("mode", ["lora", "qlora"])
def test_one_by_one_frozen_layers_train_like_stacked_ones(mode: str) -> None:
    sections: dict[str, Any] = {"quantization": {"block_size": 8}} if mode == "qlora" else {}
    losses = []
    for platform in ("cpu", "gpu"):
        program = _program(platform, mode, **sections)
        state, frozen = program.init_state(tiny_params(program))
        step_losses = []
        for seed in range(2):
            state, metrics = program.train_step(state, frozen, program.put_batch(random_batch(seed=seed)))
            step_losses.append(float(metrics.loss))
        losses.append(step_losses)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)


def test_an_unrolled_program_holds_a_list_of_layers_where_it_said() -> None:
    program = _program("gpu", "lora")
    _, frozen = program.init_state(tiny_params(program))
    assert isinstance(frozen["layers"], list)
    expected = jax.tree.map(lambda leaf: (leaf.shape, leaf.sharding), program.abstract_frozen)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.sharding), frozen) == expected


def test_every_layer_of_the_list_is_that_of_the_stack() -> None:
    program = _program("gpu", "lora")
    stacks = tiny_params(program)["layers"]
    _, frozen = program.init_state(tiny_params(program))
    for index, layer in enumerate(frozen["layers"]):
        jax.tree.map(
            lambda one, stack, at=index: np.testing.assert_array_equal(one, stack[at]), layer, stacks
        )


def test_full_training_keeps_its_layers_stacked() -> None:
    program = _program("gpu", "full")
    assert not isinstance(program.abstract_state.trainable["layers"], list)
    assert program.abstract_frozen == {}
