"""Unstacked frozen layers: the unrolled GPU program, run on a CPU."""

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


@pytest.mark.parametrize(
    ("mode", "sections"),
    [("lora", {"lora": {"rank": 4, "dropout": 0.2}}), ("qlora", {"quantization": {"block_size": 8}})],
    ids=["lora", "qlora"],
)
def test_unstacked_layers_train_like_stacked(mode: str, sections: dict[str, Any]) -> None:
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


def test_unrolled_program_unstacks_frozen_layers() -> None:
    program = _program("gpu", "lora")
    stacks = tiny_params(program)["layers"]
    _, frozen = program.init_state(tiny_params(program))
    assert isinstance(frozen["layers"], list)
    assert len(frozen["layers"]) == len(program.abstract_frozen["layers"]) == 2
    expected = jax.tree.map(lambda leaf: (leaf.shape, leaf.sharding), program.abstract_frozen)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.sharding), frozen) == expected
    for index, layer in enumerate(frozen["layers"]):
        jax.tree.map(
            lambda weight, stack, at=index: np.testing.assert_array_equal(weight, stack[at]), layer, stacks
        )


def test_full_training_keeps_layers_stacked() -> None:
    program = _program("gpu", "full")
    assert not isinstance(program.abstract_state.trainable["layers"], list)
    assert program.abstract_frozen == {}
