"""How many devices each axis of the mesh gets, from the recipe. No accelerator library is needed."""

from dataclasses import dataclass

from tunix_rt.config.recipe import ShardingSection
from tunix_rt.core.errors import InvalidInputError


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


def rows_per_device(rows: int, shape: MeshShape, *, what: str) -> int:
    """Rows that each device computes at one time.

    Args:
        rows: rows over all devices.
        shape: the mesh that they are split over.
        what: what the rows are, for the error: "batch_size 6 in 2 parts".

    Raises:
        InvalidInputError: The rows cannot be split evenly.
    """
    if rows % shape.num_batch_parts == 0:
        return rows // shape.num_batch_parts
    raise InvalidInputError(
        f"{what} gives {rows} rows at a time, which {shape.num_batch_parts} devices cannot share evenly.",
        next_step=f"Make it a multiple of {shape.num_batch_parts} rows, or use fewer devices for the batch "
        "(sharding.data times sharding.fsdp).",
    )
