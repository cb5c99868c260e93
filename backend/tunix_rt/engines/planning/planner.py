"""Puts a plan together: figures from the component model or from the compiler, time, verdict and advice."""

from dataclasses import dataclass

from tunix_rt.core.plan import Component, Plan, PlanFix, PlanSource
from tunix_rt.core.targets import Target
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.planning.attribution import attributed_components
from tunix_rt.engines.planning.components import estimate_components
from tunix_rt.engines.planning.protocol import CompiledStep
from tunix_rt.engines.planning.reasons import verdict_reason
from tunix_rt.engines.planning.step_shape import StepShape, step_shape
from tunix_rt.engines.planning.timing import flops_per_step, step_seconds, timing_assumption
from tunix_rt.engines.planning.torch_calibration import fitted_note
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.recipes.types import Recipe

ESTIMATE_NOTE = "Memory comes from the component model, not from a compiler."
UNDONATED_NOTE = (
    "Until the update writes the undonated copies, gradients and activations live in their memory: only "
    "what does not go in there is counted beside them."
)


@dataclass(frozen=True)
class PlanQuestion:
    """What is to be planned."""

    recipe: Recipe
    architecture: Architecture
    target: Target
    workload: Workload
    session_seconds: float | None = None
    engine: EngineName = "jax"


def estimated_plan(question: PlanQuestion, *, notes: tuple[str, ...] = ()) -> Plan:
    """The answer at once, from sizes alone.

    Raises:
        InvalidInputError: The recipe cannot be laid over the target's devices.
    """
    step = _step(question)
    own_notes = (ESTIMATE_NOTE,) if step.engine == "jax" else (ESTIMATE_NOTE, fitted_note(question.target))
    return _plan(question, step, estimate_components(step), "estimated", (*own_notes, *notes))


def compiled_plan(question: PlanQuestion, compiled: CompiledStep) -> Plan:
    """The same with the compiler's figures for memory."""
    step = _step(question)
    components, note = attributed_components(compiled, estimate_components(step))
    notes = (
        f"Memory: compiled by {compiled.compiler} in {compiled.compile_seconds:.0f} s.",
        note,
        f"Attention: {compiled.attention}.",
    )
    return _plan(question, step, components, "compiled", notes)


def with_fixes(plan: Plan, fixes: tuple[PlanFix, ...]) -> Plan:
    """The plan with its advice."""
    return plan.model_copy(update={"fixes": fixes})


def _step(question: PlanQuestion) -> StepShape:
    return step_shape(question.recipe, question.architecture, question.target, question.engine)


def _plan(
    question: PlanQuestion,
    step: StepShape,
    components: dict[Component, int],
    source: PlanSource,
    notes: tuple[str, ...],
) -> Plan:
    target, workload = question.target, question.workload
    needed, seconds = sum(components.values()), step_seconds(step, question.target)
    total = None if workload.num_steps is None else seconds * workload.num_steps
    session = question.session_seconds
    return Plan(
        model=question.recipe.model.name,
        target=target.name,
        fits=needed <= target.memory_bytes,
        per_device_bytes=needed,
        limit_bytes=target.memory_bytes,
        components=components,
        source=source,
        reason=verdict_reason(step, target, components),
        num_devices=step.mesh.num_devices,
        num_target_devices=target.num_devices,
        mesh={"data": step.mesh.data, "fsdp": step.mesh.fsdp, "tensor": step.mesh.tensor},
        tokens_per_step=question.recipe.training.batch_size * question.recipe.data.row_length,
        flops_per_step=flops_per_step(step),
        step_seconds=seconds,
        num_steps=workload.num_steps,
        total_seconds=total,
        session_seconds=session,
        fits_session=None if session is None or total is None else total <= session,
        assumptions=(
            timing_assumption(step, target),
            *workload.assumptions,
            f"Memory limit: {target.memory_source}.",
        ),
        notes=(
            *notes,
            *((UNDONATED_NOTE,) if components["undonated_copies"] else ()),
            *target.notes,
        ),
    )
