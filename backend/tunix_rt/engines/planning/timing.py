"""How long a step takes: work over speed, with the share of the peak that is assumed to be reached."""

from dataclasses import dataclass

from tunix_rt.core.targets import Target
from tunix_rt.engines.flops import executed_flops_per_token
from tunix_rt.engines.planning.step_shape import StepShape
from tunix_rt.engines.planning.stored import optimizer_state_bytes


@dataclass(frozen=True)
class Efficiency:
    """Share of the peak that large matrix products reach inside a training step, and how that is known."""

    share_of_peak: float
    source: str


_ASSUMED = Efficiency(0.50, "assumed, not measured")
_FULL_ON_GPU = Efficiency(0.56, "measured on an H200 with Gemma 2B; assumed on other cards")
_ADAPTERS_ON_GPU = Efficiency(0.42, "measured on an H200 with Gemma 2B; assumed on other cards")
_NOT_COMPILED = Efficiency(0.46, "measured on an H200 with Gemma 2B, layers not compiled; assumed elsewhere")


def efficiency(step: StepShape) -> Efficiency:
    """What is assumed for a step. Both engines were measured, and reach the same."""
    if step.platform != "gpu":
        return _ASSUMED
    if step.engine == "torch" and step.is_full and not step.is_compiled:
        return _NOT_COMPILED
    return _FULL_ON_GPU if step.is_full else _ADAPTERS_ON_GPU


def flops_per_step(step: StepShape) -> float:
    """Operations of one optimizer step over all devices, recomputation included."""
    training, row_length = step.recipe.training, step.recipe.data.row_length
    return executed_flops_per_token(step.architecture, step.recipe) * training.batch_size * row_length


def step_seconds(step: StepShape, target: Target) -> float:
    """Products and communication side by side, then the update, which only moves memory."""
    computing = flops_per_step(step) / step.mesh.num_devices
    computing /= target.peak_flops * efficiency(step).share_of_peak
    return max(computing, _communication_seconds(step, target)) + _update_seconds(step, target)


def _communication_seconds(step: StepShape, target: Target) -> float:
    """FSDP: weights are gathered forward and backward in every part, gradients are reduced once."""
    if step.mesh.fsdp * step.mesh.data == 1 or not target.link_bytes_per_s:
        return 0.0
    parts = step.recipe.training.gradient_accumulation_steps
    weights = step.architecture.num_parameters * step.compute_bytes / step.mesh.tensor
    gathers = 2 * parts * weights * (step.mesh.fsdp > 1)
    reductions = 2 * step.num_trained * step.compute_bytes / step.mesh.tensor
    return (gathers + reductions) / target.link_bytes_per_s


def _update_seconds(step: StepShape, target: Target) -> float:
    """Read and write every trained weight and moment, read every gradient."""
    trained = step.num_trained / step.num_weight_parts
    weights = trained * (step.weight_bytes if step.is_full else 4)
    return (2 * weights + 2 * optimizer_state_bytes(step) + weights) / target.bytes_per_s


def timing_assumption(step: StepShape, target: Target) -> str:
    """What the step time rests on, in one sentence."""
    assumed = efficiency(step)
    return (
        f"Step time: {assumed.share_of_peak:.0%} of {target.peak_flops / 1e12:,.4g} TFLOP/s a device "
        f"({assumed.source}; peak: {target.speed_source})."
    )
