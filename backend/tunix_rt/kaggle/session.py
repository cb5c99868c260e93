"""Accelerators, session hours, checkpoints between sessions."""

import math
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.targets import LOCAL
from tunix_rt.engines.planning.types import Plan
from tunix_rt.recipes.types import Recipe

WORKING = PurePosixPath("/kaggle/working")
"""Files here are kept after the session, up to `KEPT_BYTES`."""
TEMPORARY = PurePosixPath("/kaggle/temp")
"""Files here are deleted."""
INPUT = PurePosixPath("/kaggle/input")
KEPT_BYTES = 20_000_000_000
DEFAULT_HOURS = 9.0


@dataclass(frozen=True)
class KaggleMachine:
    """How Kaggle, and our command line, name an accelerator."""

    machine_shape: str | None
    """In kernel-metadata.json; None: no accelerator."""
    device: Literal["auto", "gpu", "tpu"]
    extra: str
    """Extra of our package that installs JAX for it."""


MACHINES = {
    "v5e-8": KaggleMachine("TpuV5E8", "tpu", "tpu-plan"),
    "v6e-8": KaggleMachine("TpuV6E8", "tpu", "tpu-plan"),
    "v3-8": KaggleMachine("Tpu1VmV38", "tpu", "tpu-plan"),
    "t4": KaggleMachine("NvidiaTeslaT4", "gpu", "cuda"),
    LOCAL: KaggleMachine(None, "auto", "jax"),
}
"""By target name."""


def machine_of(target: str) -> KaggleMachine:
    """The machine of a target.

    Raises:
        InvalidInputError: Kaggle has no such machine.
    """
    if target in MACHINES:
        return MACHINES[target]
    raise InvalidInputError(
        f"Kaggle has no {target!r}.", next_step=f"Choose --on from: {', '.join(MACHINES)}."
    )


SAVE_EVERY_S = 15 * 60
"""A failed session loses at most a quarter of an hour."""
# Before: installing, preflight, smoke run, downloading weights. After: evaluation and packing.
_BEFORE_S, _BEFORE_SHARE = 15 * 60, 1 / 12
_AFTER_S, _AFTER_SHARE = 30 * 60, 1 / 6
# In addition to the newest ones: the best one by validation loss, and the one being written.
_MORE_CHECKPOINTS = 2


@dataclass(frozen=True)
class SessionPlan:
    """How a training run uses a session."""

    session_s: float
    stop_after_s: int
    """Time limit of the training."""
    num_sessions: int
    save_every_steps: int | None
    """None: as the recipe says."""
    checkpoint_bytes: int
    directory: PurePosixPath
    """Run directory: kept after the session if its checkpoints fit."""


def plan_session(recipe: Recipe, plan: Plan, session_s: float) -> SessionPlan:
    """Divide a session.

    Raises:
        InvalidInputError: The training needs several sessions, but its checkpoints cannot be kept.

    Example:
        9 hours -> 15 minutes before, 8 h 15 min of training at most, 30 minutes after
    """
    # A checkpoint has the trained weights and the optimizer state; adapters are half as large as their two
    # moments.
    state = plan.components["optimizer_state"]
    num_shards = plan.mesh["fsdp"] * plan.mesh["tensor"]
    checkpoint_bytes = num_shards * state * 3 // 2
    if recipe.training.mode == "full":
        checkpoint_bytes = num_shards * (plan.components["weights"] + state)
    num_kept = recipe.output.keep_checkpoints + _MORE_CHECKPOINTS
    is_kept = num_kept * checkpoint_bytes <= KEPT_BYTES
    num_sessions = sessions_needed(plan, session_s)
    if num_sessions > 1 and not is_kept:
        raise InvalidInputError(
            f"The training takes {num_sessions} sessions, and {num_kept} checkpoints of "
            f"{checkpoint_bytes / 1e9:.1f} GB do not fit the {KEPT_BYTES / 1e9:.0f} GB that Kaggle keeps.",
            next_step="Train adapters (--set training.mode=lora), fewer steps, or a smaller model.",
        )
    # The steps in `SAVE_EVERY_S`, unless the training is shorter or the recipe saves at least as often.
    most = max(1, int(SAVE_EVERY_S / plan.step_seconds))
    own = recipe.output.save_every_steps
    is_short = plan.num_steps is not None and plan.num_steps <= most
    return SessionPlan(
        session_s=session_s,
        stop_after_s=training_seconds(session_s),
        num_sessions=num_sessions,
        save_every_steps=None if is_short or (own is not None and own <= most) else most,
        checkpoint_bytes=checkpoint_bytes,
        directory=WORKING if is_kept else TEMPORARY,
    )


def training_seconds(session_s: float) -> int:
    """Seconds of a session available for training."""
    before_s = min(_BEFORE_S, session_s * _BEFORE_SHARE)
    after_s = min(_AFTER_S, session_s * _AFTER_SHARE)
    return int(session_s - before_s - after_s)


def sessions_needed(plan: Plan, session_s: float) -> int:
    """How many sessions the training takes; 1 if its duration is unknown."""
    return max(1, math.ceil((plan.total_seconds or 0.0) / training_seconds(session_s)))
