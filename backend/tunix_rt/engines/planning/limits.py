"""Limits of recipes: mesh shapes, quantization block sizes, unsupported options of the torch engine."""

import math
from dataclasses import dataclass

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import FloatFormat, QuantizationSection, Recipe, ShardingSection, TrainingSection


@dataclass(frozen=True)
class MeshShape:
    """Devices per axis. The batch is split over data x fsdp, the weights over fsdp x tensor."""

    data: int
    fsdp: int
    tensor: int

    @property
    def num_devices(self) -> int:
        """Devices that the mesh uses."""
        return self.data * self.fsdp * self.tensor

    @property
    def num_batch_parts(self) -> int:
        """Parts that the rows of a batch are split into."""
        return self.data * self.fsdp


def mesh_shape(section: ShardingSection, num_devices: int) -> MeshShape:
    """Resolve the `auto` axis to the remaining devices; without one, devices may stay unused.

    Example:
        data 1, fsdp auto, tensor 2 on 8 devices -> MeshShape(data=1, fsdp=4, tensor=2)

    Raises:
        InvalidInputError: The axes do not divide the devices.
    """
    sizes = {"data": section.data, "fsdp": section.fsdp, "tensor": section.tensor}
    fixed = math.prod(size for size in sizes.values() if size != "auto")
    is_auto = "auto" in sizes.values()
    if fixed > num_devices or (is_auto and num_devices % fixed):
        axes = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InvalidInputError(
            f"A mesh of {axes} cannot be built from {num_devices} device{'s' * (num_devices != 1)}.",
            next_step="Set sharding so that the product of the axes divides the devices, or fsdp to auto.",
        )
    return MeshShape(
        **{name: num_devices // fixed if size == "auto" else size for name, size in sizes.items()}
    )


def rows_per_device(shape: MeshShape, architecture: Architecture, training: TrainingSection) -> int:
    """Rows that each device computes at one time.

    Example:
        batch_size 32 in 2 parts over data 1 x fsdp 8 -> 2

    Raises:
        InvalidInputError: The rows cannot be split evenly, or the heads over the tensor axis.
    """
    num_parts = training.gradient_accumulation_steps
    num_rows = training.batch_size // num_parts
    if num_rows % shape.num_batch_parts:
        raise InvalidInputError(
            f"{num_rows} rows (training.batch_size {training.batch_size} in {num_parts} part(s)) cannot be "
            f"split over {shape.num_batch_parts} devices (data {shape.data} x fsdp {shape.fsdp}).",
            next_step=f"Set training.batch_size to a multiple of {shape.num_batch_parts * num_parts}, or use "
            "fewer devices for the batch (sharding.data times sharding.fsdp).",
        )
    if architecture.num_heads % shape.tensor:
        raise InvalidInputError(
            f"{architecture.num_heads} attention heads cannot be split over {shape.tensor} devices.",
            next_step=f"Set sharding.tensor to a number that divides {architecture.num_heads}.",
        )
    return num_rows // shape.num_batch_parts


_USUAL_SIZES = (64, 32, 16, 8)


def check_blocks(section: QuantizationSection, architecture: Architecture) -> None:
    """Require a block size that fits every matrix of the layers.

    Raises:
        InvalidInputError: It does not divide the inputs of a matrix.
    """
    for name, (num_inputs, _) in architecture.matrix_shapes.items():
        check_block(section, num_inputs, name)


def check_block(section: QuantizationSection, num_inputs: int, name: str) -> None:
    """Require a block size that fits one matrix."""
    block_size = section.block_size
    if num_inputs % block_size == 0 and block_size % 2 == 0:
        return
    usable = [size for size in _USUAL_SIZES if num_inputs % size == 0]
    raise InvalidInputError(
        f"quantization.block_size {block_size} must be even and divide the {num_inputs} inputs of {name}.",
        next_step=f"Set it to {usable[0]}." if usable else "Use training.mode lora for this model.",
    )


BFLOAT16_CAPABILITY = (8, 0)
"""Ampere is the first generation that multiplies bfloat16; older cards emulate it, slower than float32."""


def require_torch_buffers(recipe: Recipe) -> None:
    """Require donated buffers, the only mode of the torch engine.

    Raises:
        InvalidInputError: The recipe turns donation off.
    """
    if not recipe.training.donate_buffers:
        raise InvalidInputError(
            "training.donate_buffers false: the torch engine always updates weights and optimizer state in "
            "place.",
            next_step="Set training.donate_buffers to true, or train with --engine jax.",
        )


def require_torch_mesh(recipe: Recipe, shape: MeshShape) -> None:
    """Require a mesh that the torch engine supports.

    Raises:
        InvalidInputError: The mesh has a tensor axis, or shards quantised weights.
    """
    if shape.tensor > 1:
        raise InvalidInputError(
            f"sharding.tensor {shape.tensor}: the torch engine does not support tensor parallelism.",
            next_step="Set sharding.tensor to 1, or train with --engine jax, which supports it.",
        )
    if shape.fsdp > 1 and recipe.training.mode == "qlora":
        raise InvalidInputError(
            f"sharding.fsdp {shape.fsdp}: the torch engine cannot shard quantised weights.",
            next_step="Set sharding.fsdp to 1 and sharding.data to auto: every device then has a copy of "
            "the model.",
        )


def require_torch_format(
    compute: FloatFormat, device_kind: str, compute_capability: tuple[int, int] | None
) -> None:
    """Require a number format that the device computes in; a CPU computes in all of them.

    Raises:
        InvalidInputError: bfloat16 on a card without it, such as the T4.
    """
    if compute == "bfloat16" and compute_capability is not None and compute_capability < BFLOAT16_CAPABILITY:
        major, minor = compute_capability
        raise InvalidInputError(
            f"{device_kind} does not compute in bfloat16 (compute capability {major}.{minor}, 8.0 is "
            "needed).",
            next_step="Set training.precision.compute: float32, or use an Ampere GPU or later.",
        )
