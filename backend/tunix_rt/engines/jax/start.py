"""The program of a run, initial or resumed weights, the plan of the compiled step, the summary."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from tunix_rt.base.errors import DataError, InvalidInputError
from tunix_rt.engines.jax.aot import bytes_per_device, compile_program
from tunix_rt.engines.jax.devices import DeviceChoice, choose_device
from tunix_rt.engines.jax.model.lora import Adapters
from tunix_rt.engines.jax.program import Program, build_program
from tunix_rt.engines.jax.sharding import make_mesh
from tunix_rt.engines.jax.training.state import StepMetrics, TrainState
from tunix_rt.engines.jax.training.step import DeviceBatch
from tunix_rt.engines.jax.weights import load_adapters, load_params
from tunix_rt.engines.planning.fixes import insufficient_memory_error, with_advice
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan
from tunix_rt.engines.planning.targets import device_target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.training.checkpointing import Start
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.preparation import Prepared, prepare
from tunix_rt.engines.training.run import (
    batch_line,
    block,
    data_line,
    logits_text,
    mib,
    model_line,
    training_line,
)
from tunix_rt.recipes.types import Recipe

CompiledTrainStep = Callable[[TrainState, Any, DeviceBatch], tuple[TrainState, StepMetrics]]


def build_run(job: TrainingJob, recipe: Recipe) -> tuple[DeviceChoice, Prepared, Program]:
    """The devices, the data and the program of a run or of its checkpoints."""
    choice = choose_device(job.device)
    prepared = prepare(recipe, job.data)
    program = build_program(
        recipe,
        prepared.source.architecture,
        make_mesh(recipe.sharding, choice.devices),
        num_steps=prepared.num_steps,
        platform=choice.platform,
    )
    return choice, prepared, program


@dataclass(frozen=True)
class Fitted:
    """A compiled step and its plan."""

    plan: Plan
    train_step: CompiledTrainStep | None
    """None when the compiler itself refused: nothing is left to force."""

    def require(self, *, is_forced: bool) -> CompiledTrainStep:
        """The compiled step.

        Raises:
            DoesNotFitError: It needs more memory than there is, and is not or cannot be forced.
        """
        if self.train_step is None or not (self.plan.fits or is_forced):
            raise insufficient_memory_error(self.plan, self.plan.reason)
        return self.train_step


def fit(program: Program, prepared: Prepared, choice: DeviceChoice) -> Fitted:
    """Compile the step and plan with the compiler's figures."""
    target = device_target(choice)
    step, executable = compile_program(program)
    question = PlanQuestion(
        prepared.recipe, prepared.source.architecture, target, Workload(num_steps=prepared.num_steps)
    )
    return Fitted(with_advice(compiled_plan(question, step), question), executable)


NUM_LARGEST = 3


def run_summary(program: Program, prepared: Prepared, choice: DeviceChoice) -> str:
    """The summary of a run, one line per subject."""
    tokens, state = program.abstract_batch["tokens"], program.abstract_state
    num_trained = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(state.trainable))
    compute_dtype = program.parts.options.compute_dtype
    rounding = ", stochastic rounding" if program.recipe.training.precision.stochastic_rounding else ""
    lines = {
        "model": model_line(prepared, num_trained),
        "training": training_line(program.recipe),
        "precision": f"compute {compute_dtype}, weights {_dtypes(program.abstract_params)}, "
        f"trained {_dtypes(state.trainable)}, optimizer state {_dtypes(state.optimizer_state)}{rounding}",
        "batch": batch_line(prepared, tokens.shape, str(tokens.dtype)),
        "data": data_line(prepared),
        "attention": f"{program.attention.kernel} ({program.attention.reason})",
        "devices": str(choice),
        "mesh": " x ".join(f"{axis} {size}" for axis, size in program.mesh.shape.items()),
        "largest": ", ".join(_largest_buffers(program)),
    }
    return block(lines)


def _largest_buffers(program: Program) -> Iterator[str]:
    """The largest arrays of the state and the largest logits; sizes per device."""
    leaves = jax.tree_util.tree_leaves_with_path((program.abstract_state, program.abstract_frozen))
    sized = sorted(((bytes_per_device(leaf), path, leaf) for path, leaf in leaves), key=lambda item: -item[0])
    for size, path, leaf in sized[:NUM_LARGEST]:
        name = jax.tree_util.keystr(path[1:], simple=True, separator=".")
        yield f"{name} {list(leaf.shape)} {leaf.dtype} {mib(size)}"
    tokens = program.abstract_batch["tokens"]
    _, rows, _ = tokens.sharding.shard_shape(tokens.shape)
    yield logits_text(program.recipe, program.architecture, rows=rows)


def _dtypes(tree: Any) -> str:
    """The number formats in a tree, without those of counters."""
    dtypes: Iterable[str] = {str(leaf.dtype) for leaf in jax.tree.leaves(tree) if leaf.ndim}
    return " and ".join(sorted(dtypes)) or "none"


def load_state(
    start: Start[TrainState], program: Program, prepared: Prepared, *, initial_adapters: Path | None = None
) -> tuple[TrainState, Any]:
    """The initial or resumed state, and the frozen weights, which checkpoints do not contain.

    A new LoRA run starts from `initial_adapters`, a directory in PEFT's layout, or from random adapters.
    """
    if start.state is not None and program.recipe.training.mode == "full":
        return start.state, {}
    adapters = None
    if start.state is None and initial_adapters is not None:
        adapters = _adapters(initial_adapters, program)
    directory = prepared.source.directory
    if program.recipe.model.weights == "random" or directory is None:
        params = program.random_params()
    else:
        params = load_params(
            directory,
            program.architecture,
            program.recipe.training.precision.weights,
            jax.tree.map(lambda leaf: leaf.sharding, program.abstract_params),
            convert=program.to_stored_format,
        )
    state, frozen = program.init_state(params, adapters)
    return state if start.state is None else start.state, frozen


def _adapters(directory: Path, program: Program) -> Adapters:
    lora = program.recipe.lora
    if lora is None:
        raise InvalidInputError(
            "Initial adapters are given, but the recipe trains none.",
            next_step="Set training.mode to lora, or omit the adapters.",
        )
    adapters, stored = load_adapters(directory, program.architecture)
    if (stored.rank, set(stored.targets)) != (lora.rank, set(lora.targets)):
        raise DataError(
            f"The adapters in {directory} differ from the recipe in rank or targets.",
            next_step="Use adapters with the recipe's lora.rank and lora.targets.",
        )
    return adapters
