"""The verdict in one sentence, with what weighs most."""

from tunix_rt.core.plan import Component
from tunix_rt.core.targets import GIB, Target
from tunix_rt.engines.planning.step_shape import StepShape

_NAMES: dict[Component, str] = {
    "weights": "weights",
    "optimizer_state": "optimizer state",
    "undonated_copies": "copies because nothing is donated",
    "gradients": "gradients",
    "activations": "activations",
    "logits": "logits",
    "temporaries": "temporaries",
}


def gib(num_bytes: float) -> str:
    """Example: 30_150_000_000 -> "28.08 GiB"."""
    return f"{num_bytes / GIB:.2f} GiB"


def verdict_reason(step: StepShape, target: Target, components: dict[Component, int]) -> str:
    """Fits or not, how much of how much, and why it is that much."""
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
    what = _NAMES[name]
    if name == "optimizer_state":
        training = step.recipe.training
        optimizer = {"adamw": "AdamW", "adafactor": "Adafactor"}[training.optimizer.name]
        what = f"{optimizer} state in {training.precision.optimizer_state}"
    elif name == "weights":
        what = f"weights in {step.recipe.training.precision.weights}"
    return f"{what} {gib(size)}"
