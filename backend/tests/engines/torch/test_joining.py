"""Joining a process group of torch: invalid addresses, and processes that never join."""

import pytest
import torch
from support.children import free_port

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.torch.distributed import joined, own_device
from tunix_rt.engines.training.job import ProcessGroup
from tunix_rt.engines.types import DeviceRequest

CPU = torch.device("cpu")


def join(processes: ProcessGroup, *, timeout_s: int = 0) -> None:
    with joined(processes, CPU, timeout_s=timeout_s):
        raise AssertionError("no other process exists")


def test_address_without_port_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="'localhost' is not an address"):
        join(ProcessGroup("localhost", 2, 0))


def test_unreachable_coordinator_is_named() -> None:
    port = free_port()
    with pytest.raises(DeviceError, match=f"127.0.0.1:{port} within 0 s"):
        join(ProcessGroup(f"127.0.0.1:{port}", 2, 1))


def test_first_process_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.setenv(key, "")
    with pytest.raises(DeviceError, match=r"Not all 2 processes joined.*torchrun"):
        join(ProcessGroup(f"127.0.0.1:{free_port()}", 2, 0), timeout_s=1)


def test_single_process_joins_no_group() -> None:
    with joined(None, CPU):
        assert not torch.distributed.is_initialized()


def test_cpu_process_takes_no_gpu() -> None:
    request = DeviceRequest("cpu")
    assert own_device(request, ProcessGroup("127.0.0.1:1", 2, 1)) is request
