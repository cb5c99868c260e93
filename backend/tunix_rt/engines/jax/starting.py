"""The weights that a run starts with, or goes on with."""

from typing import Any

import jax

from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import TrainState
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.starting import Start


def load_state(start: Start[TrainState], program: Program, prepared: Prepared) -> tuple[TrainState, Any]:
    """The state to go on from, and the frozen weights, which no checkpoint holds."""
    if start.state is None:
        return program.init_state(_params(program, prepared))
    if program.recipe.training.mode == "full":
        return start.state, {}
    _, frozen = program.init_state(_params(program, prepared))
    return start.state, frozen


def _params(program: Program, prepared: Prepared) -> Params:
    directory = prepared.source.directory
    if program.recipe.model.weights == "random" or directory is None:
        return program.random_params()
    return load_params(
        directory,
        program.architecture,
        program.recipe.training.precision.weights,
        jax.tree.map(lambda leaf: leaf.sharding, program.abstract_params),
        convert=program.stored,
    )
