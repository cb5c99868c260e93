"""The accelerators that a notebook on Kaggle can ask for, and what a session there has."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.targets import LOCAL

WORKING = PurePosixPath("/kaggle/working")
"""What lies here outlives the session, up to `KEPT_BYTES`."""
TEMPORARY = PurePosixPath("/kaggle/temp")
"""What lies here does not."""
INPUT = PurePosixPath("/kaggle/input")
KEPT_BYTES = 20_000_000_000
DEFAULT_HOURS = 9.0


@dataclass(frozen=True)
class KaggleMachine:
    """How Kaggle and the command line name an accelerator."""

    machine_shape: str | None
    """In kernel-metadata.json; None: no accelerator."""
    device: Literal["auto", "gpu", "tpu"]
    extra: str
    """Of our package, that brings JAX for it."""


MACHINES = {
    "v5e-8": KaggleMachine("TpuV5E8", "tpu", "tpu-plan"),
    "v6e-8": KaggleMachine("TpuV6E8", "tpu", "tpu-plan"),
    "v3-8": KaggleMachine("Tpu1VmV38", "tpu", "tpu-plan"),
    "t4": KaggleMachine("NvidiaTeslaT4", "gpu", "cuda"),
    LOCAL: KaggleMachine(None, "auto", "jax"),
}
"""By the name of the target."""


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
