"""The weights that a run starts with, or goes on with."""

from pathlib import Path
from typing import Any

import jax

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.engines.jax.adapter_files import load_adapters
from tunix_rt.engines.jax.lora import Adapters
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import TrainState
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.starting import Start


def load_state(
    start: Start[TrainState], program: Program, prepared: Prepared, *, initial_adapters: Path | None = None
) -> tuple[TrainState, Any]:
    """The state to go on from, and the frozen weights, which no checkpoint holds.

    At the beginning LoRA takes `initial_adapters`, a directory in PEFT's layout, or random ones.
    """
    if start.state is None:
        adapters = None if initial_adapters is None else _adapters(initial_adapters, program)
        return program.init_state(_params(program, prepared), adapters)
    if program.recipe.training.mode == "full":
        return start.state, {}
    _, frozen = program.init_state(_params(program, prepared))
    return start.state, frozen


def _adapters(directory: Path, program: Program) -> Adapters:
    lora = program.recipe.lora
    if lora is None:
        raise InvalidInputError(
            "There are adapters to start from, but the recipe trains none.",
            next_step="Set training.mode to lora, or leave the adapters out.",
        )
    adapters, stored = load_adapters(directory, program.architecture)
    if (stored.rank, set(stored.targets)) != (lora.rank, set(lora.targets)):
        raise DataError(
            f"The adapters in {directory} have another rank or other targets than the recipe.",
            next_step="Start from adapters of lora.rank and lora.targets.",
        )
    return adapters


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
