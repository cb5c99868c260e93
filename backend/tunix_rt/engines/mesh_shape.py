"""How many devices each axis of the mesh gets, from the recipe. No accelerator library is needed."""

from dataclasses import dataclass

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.recipes.types import ShardingSection, TrainingSection


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
    """Give the `auto` axis what the others leave; without one, devices may be left over.

    Example:
        data 1, fsdp auto, tensor 2 on 8 devices -> MeshShape(data=1, fsdp=4, tensor=2)

    Raises:
        InvalidInputError: The axes do not go into the devices.
    """
    sizes = {"data": section.data, "fsdp": section.fsdp, "tensor": section.tensor}
    fixed = 1
    for size in sizes.values():
        fixed *= size if isinstance(size, int) else 1
    is_auto = "auto" in sizes.values()
    if fixed > num_devices or (is_auto and num_devices % fixed):
        asked = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InvalidInputError(
            f"A mesh of {asked} cannot be made of {num_devices} device{'s' * (num_devices != 1)}.",
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
