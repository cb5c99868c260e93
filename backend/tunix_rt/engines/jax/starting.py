"""Where a run starts: at the beginning, or at a checkpoint that was read, proved and found to be its own."""

from dataclasses import dataclass, field
from typing import Any

import jax

from tunix_rt.core.errors import ConflictError
from tunix_rt.engines.base import TrainingJob
from tunix_rt.engines.checkpoint_record import ValidationHistory
from tunix_rt.engines.jax.checkpoints import Checkpoints
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import TrainState
from tunix_rt.engines.jax.weights import load_params
from tunix_rt.engines.preparation import Prepared


@dataclass(frozen=True)
class DamagedCheckpoint:
    """A checkpoint that was passed over."""

    step: int
    problem: str


@dataclass(frozen=True, eq=False)
class Start:
    """The state that a run goes on from."""

    step: int = 0
    history: ValidationHistory = field(default_factory=ValidationHistory)
    state: TrainState | None = None
    """None at the beginning: the weights are loaded when it is known that they fit."""
    damaged: tuple[DamagedCheckpoint, ...] = ()


def find_start(job: TrainingJob, checkpoints: Checkpoints, program: Program, prepared: Prepared) -> Start:
    """Read the checkpoint that the job asks for.

    Raises:
        ConflictError: The checkpoints belong to another training, or are there although none was asked for.
        NotFoundError: There is no checkpoint of the step.
        DataError: The one asked for, or every one, is damaged.
    """
    if job.resume_from is None:
        _refuse_checkpoints(checkpoints)
        return Start()
    damaged: list[DamagedCheckpoint] = []
    target = program.abstract_state
    if not isinstance(job.resume_from, int):
        restored = checkpoints.restore_newest(
            target,
            prepared.identity,
            on_damaged=lambda step, problem: damaged.append(DamagedCheckpoint(step, problem)),
        )
    else:
        restored = checkpoints.restore(job.resume_from, target, prepared.identity)
    if restored is None:
        return Start()
    _refuse_beyond_the_end(restored.record.step, prepared.num_steps)
    return Start(restored.record.step, restored.record.validation, restored.state, tuple(damaged))


def load_state(start: Start, program: Program, prepared: Prepared) -> tuple[TrainState, Any]:
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


def _refuse_checkpoints(checkpoints: Checkpoints) -> None:
    if checkpoints.steps():
        raise ConflictError(
            f"{checkpoints.directory} holds checkpoints of another run.",
            next_step="Go on from them with --resume, or choose another directory.",
        )


def _refuse_beyond_the_end(step: int, num_steps: int) -> None:
    if step > num_steps:
        raise ConflictError(
            f"The checkpoint is of step {step}, but the recipe ends after {num_steps}.",
            next_step=f"Set training.num_steps to {step} or more, or resume from an earlier step.",
        )
