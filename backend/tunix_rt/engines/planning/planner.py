"""Plans from estimated or compiled memory: figures, time, verdict."""

from dataclasses import dataclass

from tunix_rt.engines.planning.compile import CompiledStep, attributed_components
from tunix_rt.engines.planning.memory import estimate_components, fitted_note
from tunix_rt.engines.planning.step import (
    StepShape,
    executed_flops_per_token,
    optimizer_state_bytes,
    step_shape,
)
from tunix_rt.engines.planning.targets import GIB, Target
from tunix_rt.engines.planning.types import Component, Plan, PlanSource, Workload
from tunix_rt.engines.types import EngineName
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import Recipe


def gib(num_bytes: float) -> str:
    """Example: 30_150_000_000 -> "28.08 GiB"."""
    return f"{num_bytes / GIB:.2f} GiB"


def verdict_reason(step: StepShape, target: Target, components: dict[Component, int]) -> str:
    """The verdict: needed and available memory, and the largest components if it does not fit."""
    needed = sum(components.values())
    figure = f"{gib(needed)} of {gib(target.memory_bytes)} per device"
    if needed <= target.memory_bytes:
        return f"Fits: {figure}."
    largest = sorted(components, key=lambda name: -components[name])
    causes = [_cause(name, components[name], step) for name in largest if components[name] > 0.05 * needed]
    if step.mesh.num_devices < target.num_devices:
        causes.append(f"{step.mesh.num_devices} of {target.num_devices} devices used")
    return f"Does not fit: {figure}. {'; '.join(causes)}."


def _cause(name: Component, size: int, step: StepShape) -> str:
    what = name.replace("_", " ")
    if name == "optimizer_state":
        training = step.recipe.training
        optimizer = {"adamw": "AdamW", "adafactor": "Adafactor"}[training.optimizer.name]
        what = f"{optimizer} state in {training.precision.optimizer_state}"
    elif name == "weights":
        what = f"weights in {step.recipe.training.precision.weights}"
    return f"{what} {gib(size)}"


def efficiency(step: StepShape) -> tuple[float, str]:
    """The share of the peak FLOPs that a step reaches, and the source of that figure.

    Both engines were measured, with equal results.
    """
    if step.platform != "gpu":
        return 0.50, "assumed, not measured"
    if step.engine == "torch" and step.is_full and not step.is_compiled:
        return 0.46, "measured on an H200 with Gemma 2B, layers not compiled; assumed elsewhere"
    share = 0.56 if step.is_full else 0.42
    return share, "measured on an H200 with Gemma 2B; assumed on other cards"


def flops_per_step(step: StepShape) -> float:
    """Operations of one optimizer step over all devices, recomputation included."""
    training, row_length = step.recipe.training, step.recipe.data.row_length
    return executed_flops_per_token(step.architecture, step.recipe) * training.batch_size * row_length


def step_seconds(step: StepShape, target: Target) -> float:
    """Compute overlapped with communication, then the update, which is bound by memory bandwidth."""
    share_of_peak, _ = efficiency(step)
    computing = flops_per_step(step) / step.mesh.num_devices
    computing /= target.peak_flops * share_of_peak
    communicating = 0.0
    if step.mesh.fsdp * step.mesh.data > 1 and target.link_bytes_per_s:
        # FSDP: weights are gathered forward and backward in every part, gradients are reduced once.
        parts = step.recipe.training.gradient_accumulation_steps
        weights = step.architecture.num_parameters * step.compute_bytes / step.mesh.tensor
        gathers = 2 * parts * weights * (step.mesh.fsdp > 1)
        reductions = 2 * step.num_trained * step.compute_bytes / step.mesh.tensor
        communicating = (gathers + reductions) / target.link_bytes_per_s
    # Read and write every trained weight and moment, read every gradient.
    trained = step.num_trained / step.num_weight_parts * (step.weight_bytes if step.is_full else 4)
    updating = (2 * trained + 2 * optimizer_state_bytes(step) + trained) / target.bytes_per_s
    return max(computing, communicating) + updating


ESTIMATE_NOTE = "Memory comes from the component model, not from a compiler."
UNDONATED_NOTE = (
    "Until the update writes the undonated copies, gradients and activations use their memory: only what "
    "does not fit there is counted in addition."
)


@dataclass(frozen=True)
class PlanQuestion:
    """The inputs of a plan."""

    recipe: Recipe
    architecture: Architecture
    target: Target
    workload: Workload
    session_seconds: float | None = None
    engine: EngineName = "jax"


def estimated_plan(question: PlanQuestion, *, notes: tuple[str, ...] = ()) -> Plan:
    """Plan from the component model alone, without a compiler.

    Raises:
        InvalidInputError: The recipe cannot be split over the target's devices.
    """
    step = _step(question)
    own_notes = (ESTIMATE_NOTE,) if step.engine == "jax" else (ESTIMATE_NOTE, fitted_note(question.target))
    return _plan(question, step, estimate_components(step), "estimated", (*own_notes, *notes))


def compiled_plan(question: PlanQuestion, compiled: CompiledStep) -> Plan:
    """Plan with the compiler's memory figures."""
    step = _step(question)
    components, note = attributed_components(compiled, estimate_components(step))
    notes = (
        f"Memory: compiled by {compiled.compiler} in {compiled.compile_seconds:.0f} s.",
        note,
        f"Attention: {compiled.attention}.",
    )
    return _plan(question, step, components, "compiled", notes)


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
    share_of_peak, efficiency_source = efficiency(step)
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
            f"Step time: {share_of_peak:.0%} of {target.peak_flops / 1e12:,.4g} TFLOP/s per device "
            f"({efficiency_source}; peak: {target.speed_source}).",
            *workload.assumptions,
            f"Memory limit: {target.memory_source}.",
        ),
        notes=(*notes, *((UNDONATED_NOTE,) if components["undonated_copies"] else ()), *target.notes),
    )
