"""Processes that train together: who they are, and whether the first can be reached."""

import socket
import time
from collections.abc import Mapping

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.engines.base import ProcessGroup

DEFAULT_TIMEOUT_S = 300
_TORCHRUN_KEYS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")


def processes_of_torchrun(environ: Mapping[str, str]) -> ProcessGroup | None:
    """What torchrun, or accelerate, says about this process; None when it trains alone.

    Example:
        MASTER_ADDR=10.0.0.2 MASTER_PORT=29500 RANK=1 WORLD_SIZE=4 -> ProcessGroup("10.0.0.2:29500", 4, 1)
    """
    if any(key not in environ for key in _TORCHRUN_KEYS) or environ["WORLD_SIZE"] == "1":
        return None
    address = f"{environ['MASTER_ADDR']}:{environ['MASTER_PORT']}"
    return ProcessGroup(address, int(environ["WORLD_SIZE"]), int(environ["RANK"]))


def coordinator_address(processes: ProcessGroup) -> tuple[str, int]:
    """Host and port of process 0.

    Raises:
        InvalidInputError: The address is none, or the process does not exist in a run of this size.
    """
    host, _, port = processes.coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidInputError(
            f"The coordinator {processes.coordinator!r} is not an address.",
            next_step="Give the host and port of process 0, e.g. 10.0.0.2:8476.",
        )
    if not 0 <= processes.process_id < processes.num_processes:
        raise InvalidInputError(
            f"Process {processes.process_id} does not exist in a run of {processes.num_processes} processes.",
            next_step=f"Number the processes from 0 to {processes.num_processes - 1}.",
        )
    return host, int(port)


def wait_for_process_0(processes: ProcessGroup, timeout_s: int) -> None:
    """Return when process 0 listens; process 0 itself has nobody to wait for.

    Raises:
        DeviceError: Nothing listens at its address.
    """
    host, port = coordinator_address(processes)
    deadline = time.monotonic() + timeout_s
    while processes.process_id > 0:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise DeviceError(
                    f"Process 0 could not be reached at {host}:{port} within {timeout_s} s ({error}).",
                    next_step="Start process 0, and check its address and the firewall between the machines.",
                ) from error
            time.sleep(0.2)
