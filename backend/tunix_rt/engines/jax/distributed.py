"""Several processes, on one machine or many, as one mesh: every one of them runs the same program.

Each process calls `initialize` before it touches a device. After that `jax.devices()` has the devices of all
processes, and a mesh over them works like any other: `Program.put_batch` takes the whole batch on every
process and sends only the rows of the process's own devices.
"""

import socket
import time

import jax

from tunix_rt.core.errors import DeviceError, InvalidInputError

DEFAULT_TIMEOUT_S = 300


def initialize(
    coordinator: str, num_processes: int, process_id: int, *, timeout_s: int = DEFAULT_TIMEOUT_S
) -> None:
    """Join the other processes; returns when all of them are there.

    Args:
        coordinator: `host:port` that process 0 listens on and the others can reach.
        num_processes: Processes of the run.
        process_id: Which of them this is, from 0.
        timeout_s: How long to wait for the others.

    Raises:
        InvalidInputError: The address is none, or the process does not exist in a run of this size.
        DeviceError: Nothing listens at the coordinator's address.
    """
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidInputError(
            f"The coordinator {coordinator!r} is not an address.",
            next_step="Give the host and port of process 0, e.g. 10.0.0.2:8476.",
        )
    if not 0 <= process_id < num_processes:
        raise InvalidInputError(
            f"Process {process_id} does not exist in a run of {num_processes} processes.",
            next_step=f"Number the processes from 0 to {num_processes - 1}.",
        )
    if process_id > 0:
        _wait_until_it_listens(host, int(port), timeout_s)
    jax.distributed.initialize(coordinator, num_processes, process_id, initialization_timeout=timeout_s)


def _wait_until_it_listens(host: str, port: int, timeout_s: int) -> None:
    """JAX aborts a process that cannot reach process 0; a wrong address must be an error instead."""
    deadline = time.monotonic() + timeout_s
    while True:
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
