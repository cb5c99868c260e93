"""What the torch engine cannot do. Torch itself is not needed: the planner asks here too."""

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.mesh_shape import MeshShape
from tunix_rt.recipes.types import FloatFormat, Recipe

_BFLOAT16_CAPABILITY = (8, 0)
"""Ampere is the first generation that multiplies bfloat16; older cards emulate it, slower than float32."""


def require_torch_buffers(recipe: Recipe) -> None:
    """Refuse a wish that would change nothing.

    Raises:
        InvalidInputError: The recipe wants old and new weights side by side.
    """
    if not recipe.training.donate_buffers:
        raise InvalidInputError(
            "training.donate_buffers false: the torch engine always updates weights and optimizer state in "
            "place.",
            next_step="Set training.donate_buffers to true, or train with --engine jax.",
        )


def require_torch_mesh(recipe: Recipe, shape: MeshShape) -> None:
    """Refuse what only the other engine shares between devices.

    Raises:
        InvalidInputError: The mesh has a tensor axis, or shares quantised weights.
    """
    if shape.tensor > 1:
        raise InvalidInputError(
            f"sharding.tensor {shape.tensor}: the torch engine does not share products between devices.",
            next_step="Set sharding.tensor to 1, or train with --engine jax, which does.",
        )
    if shape.fsdp > 1 and recipe.training.mode == "qlora":
        raise InvalidInputError(
            f"sharding.fsdp {shape.fsdp}: the torch engine cannot share quantised weights between devices.",
            next_step="Set sharding.fsdp to 1 and sharding.data to auto: every device then has a copy of "
            "the model.",
        )


def require_torch_format(
    compute: FloatFormat, device_kind: str, compute_capability: tuple[int, int] | None
) -> None:
    """Refuse a number format that the device does not compute in; a CPU computes in all of them.

    Raises:
        InvalidInputError: bfloat16 on a card that has none, such as the T4.
    """
    if compute == "bfloat16" and compute_capability is not None and compute_capability < _BFLOAT16_CAPABILITY:
        major, minor = compute_capability
        raise InvalidInputError(
            f"{device_kind} does not compute in bfloat16 (compute capability {major}.{minor}, 8.0 is "
            "needed).",
            next_step="Set training.precision.compute: float32, or use an Ampere GPU or later.",
        )
