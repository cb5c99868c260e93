"""Several processes that train together, one device each: joined at the start, and told when one is lost.

torchrun, accelerate and the flags --coordinator, --num-processes and --process-id all end here.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import torch
import torch.distributed as dist

from tunix_rt.base.errors import DeviceError
from tunix_rt.engines.base import DeviceRequest, ProcessGroup
from tunix_rt.engines.process_groups import DEFAULT_TIMEOUT_S, coordinator_address, wait_for_process_0

COLLECTIVE_TIMEOUT_S = 1800
"""The others wait this long for a process that is alive: one may be writing a large checkpoint."""

# What gloo and NCCL say when the other end is gone; gloo raises a plain RuntimeError.
_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Timed out waiting", "NCCL")


def own_device(request: DeviceRequest, processes: ProcessGroup | None) -> DeviceRequest:
    """The request with the one GPU of its machine that this process takes; alone, as it was asked."""
    if processes is None or request.name == "cpu" or not torch.cuda.is_available():
        return request
    number = int(os.environ.get("LOCAL_RANK", processes.process_id % torch.cuda.device_count()))
    return replace(request, index=number)


@contextmanager
def joined(
    processes: ProcessGroup | None, device: torch.device, *, timeout_s: int = DEFAULT_TIMEOUT_S
) -> Iterator[None]:
    """Be one of several processes inside; alone, nothing happens.

    Raises:
        InvalidInputError: The address is none, or the process does not exist in a run of this size.
        DeviceError: The others did not come, or one of them was lost on the way.
    """
    if processes is None:
        yield
        return
    with _explaining_losses(processes):
        _join(processes, device, timeout_s)
        try:
            yield
        finally:
            dist.destroy_process_group()


def _join(processes: ProcessGroup, device: torch.device, timeout_s: int) -> None:
    host, port = coordinator_address(processes)
    wait_for_process_0(processes, timeout_s)
    # torchrun's agent holds the store itself and says so in the environment, which env:// reads.
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
            f"Not all {processes.num_processes} processes came together at {processes.coordinator} within "
            f"{timeout_s} s: {_first_line(error)}",
            next_step="Start all of them with the same --coordinator and --num-processes, each with its own "
            "--process-id, or let torchrun do it.",
        ) from error
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=COLLECTIVE_TIMEOUT_S))


@contextmanager
def _explaining_losses(processes: ProcessGroup) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and not any(sign in str(error) for sign in _LOST):
            raise
        raise DeviceError(
            f"Process {processes.process_id} lost another of the {processes.num_processes} that train "
            f"together: {_first_line(error)}",
            next_step="Its own log says why it ended. Then start all of them again with --resume: they go on "
            "from the newest checkpoint.",
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
