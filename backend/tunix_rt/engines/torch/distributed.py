"""Process groups; FSDP and tensor-parallel layout.

Used for torchrun, accelerate and the flags --coordinator, --num-processes and --process-id.

    data    copies of the model: gradients are summed over them after the backward pass
    fsdp    processes that shard weights, gradients and optimizer state (FSDP2): each holds some rows of every
            parameter, and gathers a layer only while it computes

Every process takes its rows of each batch. The loss is divided by the trained tokens of the whole batch, so
the sums over all processes equal the gradients of a single process. Sharded parameters are DTensors;
everything after the backward pass works on the plain shards that `local_shard` returns.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.planning.limits import MeshShape, mesh_shape, require_torch_mesh, rows_per_device
from tunix_rt.engines.training.job import (
    DEFAULT_TIMEOUT_S,
    ProcessGroup,
    coordinator_address,
    wait_for_process_0,
)
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.engines.weights.architecture import Architecture
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.packing import Batch

COLLECTIVE_TIMEOUT_S = 1800
"""How long to wait for a process that is alive: it may be writing a large checkpoint."""

# Messages of gloo and NCCL when a peer is gone; gloo raises a plain RuntimeError.
_CONNECTION_LOST_MESSAGES = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "Timed out waiting",
    "NCCL",
)


def own_device(request: DeviceRequest, processes: ProcessGroup | None) -> DeviceRequest:
    """The request with the GPU index of this process; unchanged for a single process."""
    if processes is None or request.name == "cpu" or not torch.cuda.is_available():
        return request
    number = int(os.environ.get("LOCAL_RANK", processes.process_id % torch.cuda.device_count()))
    return replace(request, index=number)


@contextmanager
def joined(
    processes: ProcessGroup | None, device: torch.device, *, timeout_s: int = DEFAULT_TIMEOUT_S
) -> Iterator[None]:
    """Join the process group inside this context; does nothing for a single process.

    Raises:
        InvalidInputError: The address is invalid, or the process id is out of range.
        DeviceError: Not all processes joined, or one was lost during the run.
    """
    if processes is None:
        yield
        return
    try:
        _join(processes, device, timeout_s)
        try:
            yield
        finally:
            dist.destroy_process_group()
    except RuntimeError as error:
        is_lost = any(message in str(error) for message in _CONNECTION_LOST_MESSAGES)
        if not isinstance(error, dist.DistError) and not is_lost:
            raise
        raise DeviceError(
            f"Process {processes.process_id} lost the connection to another of the {processes.num_processes} "
            f"processes: {_first_line(error)}",
            next_step="Check the log of that process. Then start all of them again with --resume to continue "
            "from the newest checkpoint.",
        ) from error


def _join(processes: ProcessGroup, device: torch.device, timeout_s: int) -> None:
    host, port = coordinator_address(processes)
    wait_for_process_0(processes, timeout_s)
    # env:// reads the environment, where torchrun's agent announces that it hosts the store itself.
    os.environ |= {
        "MASTER_ADDR": host,
        "MASTER_PORT": str(port),
        "RANK": str(processes.process_id),
        "WORLD_SIZE": str(processes.num_processes),
    }
    try:
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            init_method="env://",
            timeout=timedelta(seconds=timeout_s),
        )
        dist.barrier()
    except (RuntimeError, ValueError) as error:
        raise DeviceError(
            f"Not all {processes.num_processes} processes joined at {processes.coordinator} within "
            f"{timeout_s} s: {_first_line(error)}",
            next_step="Start all of them with the same --coordinator and --num-processes, each with its own "
            "--process-id, or let torchrun do it.",
        ) from error
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=COLLECTIVE_TIMEOUT_S))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


_DATA, _FSDP = "data", "fsdp"
_ONE_DEVICE = MeshShape(data=1, fsdp=1, tensor=1)


@dataclass(frozen=True, eq=False)
class Layout:
    """The position of this process in a run. `ALONE` is a run with one process."""

    process_id: int = 0
    num_processes: int = 1
    shape: MeshShape = _ONE_DEVICE
    mesh: DeviceMesh | None = None
    """Axes `data` and `fsdp`; None for a run of one process."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes the shared files."""
        return self.process_id == 0

    def local_rows(self, batch: Batch) -> Batch:
        """The rows of a batch that this process computes.

        Example:
            rows 0 1 2 3 on two processes -> process 1 has 1 3
        """
        if self.num_processes == 1:
            return batch
        own = slice(self.process_id, None, self.num_processes)
        return replace(
            batch,
            tokens=batch.tokens[own],
            targets=batch.targets[own],
            loss_mask=batch.loss_mask[own],
            segment_ids=batch.segment_ids[own],
            positions=batch.positions[own],
            examples=batch.examples[own],
        )

    def wrap(
        self,
        model: nn.Module,
        layers: Iterable[nn.Module],
        loss: Callable[..., Tensor],
        *,
        compute: torch.dtype,
    ) -> Callable[..., Tensor]:
        """Shard the model if needed, and return the loss function to call from now on.

        Sharding replaces the parameters of `model` by shards in their own format, which are gathered in the
        format `compute` while `loss` runs. Create the optimizer state afterwards.
        """
        if self.mesh is None or self.shape.fsdp == 1:
            return loss
        mesh = self.mesh if self.shape.data > 1 else self.mesh[_FSDP]
        whole = _ModelWithLoss(model, loss)
        # Inputs keep their dtype: positions and norms are float32 on purpose.
        policy = MixedPrecisionPolicy(compute, torch.float32, cast_forward_inputs=False)
        for module in (*layers, whole):
            sharded = fully_shard(module, mesh=mesh, mp_policy=policy)
            assert isinstance(sharded, FSDPModule)
            # Sums, not means: the loss is divided by the tokens of all processes. Gloo cannot scale in a
            # reduction.
            sharded.set_gradient_divide_factor(1.0)
            sharded.set_force_sum_reduction_for_comms(True)
        return whole

    def sum_gradients(self, gradients: Iterable[Tensor]) -> None:
        """Sum gradients over the copies of the model, in place; FSDP does so during the backward pass."""
        if self.mesh is None or self.shape.fsdp > 1:
            return
        works = [dist.all_reduce(gradient, async_op=True) for gradient in gradients]
        for work in works:
            work.wait()

    def sum_over_processes(self, tensor: Tensor) -> Tensor:
        """Sum a value that every process computes for its own rows, in place."""
        if self.mesh is not None:
            dist.all_reduce(tensor)
        return tensor

    def sum_over_shards(self, tensor: Tensor) -> Tensor:
        """Sum a value that every process computes for its own shards of the weights, in place."""
        if self.mesh is not None and self.shape.fsdp > 1:
            dist.all_reduce(tensor, group=self.mesh.get_group(_FSDP))
        return tensor

    def full(self, tensor: Tensor) -> Tensor:
        """The whole tensor, gathered if it is sharded; all processes must call this."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def shard_like(self, whole: Tensor, like: Tensor) -> Tensor:
        """A whole tensor, sharded like `like`."""
        if not isinstance(like, DTensor):
            return whole
        return distribute_tensor(whole, like.device_mesh, like.placements, src_data_rank=None)

    def wait(self) -> None:
        """Wait until all processes reach this point."""
        if self.mesh is not None:
            dist.barrier()

    def __str__(self) -> str:
        return f"data {self.shape.data} x fsdp {self.shape.fsdp} x tensor 1"


ALONE = Layout()


def local_shard(tensor: Tensor) -> Tensor:
    """The part of a parameter or gradient on this process, sharing its memory; all of it if not sharded."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def make_layout(
    recipe: Recipe, architecture: Architecture, processes: ProcessGroup | None, device: torch.device
) -> Layout:
    """Build the recipe's mesh over the processes, which have joined already.

    Raises:
        InvalidInputError: The mesh or the batch does not fit the processes, or this engine does not support
            it.
    """
    num_processes = 1 if processes is None else processes.num_processes
    shape = mesh_shape(recipe.sharding, num_processes)
    rows_per_device(shape, architecture, recipe.training)
    require_torch_mesh(recipe, shape)
    if processes is None:
        return ALONE
    if shape.num_devices < num_processes:
        raise InvalidInputError(
            f"The mesh of sharding uses {shape.num_devices} of {num_processes} processes.",
            next_step=f"Start {shape.num_devices} processes, or set sharding.fsdp or sharding.data to auto.",
        )
    mesh = init_device_mesh(device.type, (shape.data, shape.fsdp), mesh_dim_names=(_DATA, _FSDP))
    return Layout(processes.process_id, num_processes, shape, mesh)


class _ModelWithLoss(nn.Module):
    """The model and its loss as one module, so that FSDP gathers embedding and head for its forward pass."""

    def __init__(self, model: nn.Module, loss: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model = model
        self._loss = loss

    def forward(self, *inputs: Tensor) -> Tensor:
        """The loss."""
        return self._loss(*inputs)
