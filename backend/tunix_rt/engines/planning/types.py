"""Plan, PlanFix, Workload."""

from dataclasses import dataclass
from typing import Literal

from tunix_rt.base.records import Count, Record

PlanSource = Literal["estimated", "compiled", "measured"]
"""A component model, the compiler's own figure for the very step, or a run of it."""

Component = Literal[
    "weights", "optimizer_state", "undonated_copies", "gradients", "activations", "logits", "temporaries"
]

COMPONENT_MEANINGS: dict[Component, str] = {
    "weights": "stored weights, adapters included",
    "optimizer_state": "moments of the optimizer",
    "undonated_copies": "new weights and optimizer state next to the old ones",
    "gradients": "gradients of the trained weights",
    "activations": "saved for the backward pass, and those of the active layer",
    "logits": "logits of the tokens scored at a time",
    "temporaries": "weights cast or gathered for compute, and the rest",
}


class PlanFix(Record):
    """A change of the recipe that makes it fit, with the figures it would then have."""

    change: str
    """Options to add to the command: `--set key=value`, once or several times."""
    cost: str
    """What the change does to the training."""
    per_device_bytes: Count
    step_seconds: float
    source: PlanSource


class Plan(Record):
    """Recipe times target. Bytes and times are per device and per optimizer step."""

    model: str
    target: str
    fits: bool
    per_device_bytes: Count
    limit_bytes: Count
    components: dict[Component, Count]
    """They add up to per_device_bytes."""
    source: PlanSource
    """The source of per_device_bytes; the notes list the exact components."""
    reason: str
    """The verdict in one sentence."""
    num_devices: int
    """Devices that the recipe's mesh uses."""
    num_target_devices: int
    mesh: dict[str, int]
    tokens_per_step: int
    flops_per_step: float
    step_seconds: float
    """Always an estimate; see the assumptions."""
    num_steps: int | None = None
    """Absent when the recipe asks for epochs of a dataset that is not known here."""
    total_seconds: float | None = None
    session_seconds: float | None = None
    fits_session: bool | None = None
    """Absent without a session budget or without total_seconds."""
    fixes: tuple[PlanFix, ...] = ()
    """Cheapest first; empty when the recipe fits."""
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workload:
    """Steps of the whole run, and what was assumed to count them."""

    num_steps: int | None = None
    """None when the recipe asks for epochs of a dataset that is not known here."""
    longest_example: int | None = None
    """Tokens of the longest example; None when not every example was tokenised."""
    assumptions: tuple[str, ...] = ()
