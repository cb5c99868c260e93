"""Several processes, on one machine or many, as one mesh: every one of them runs the same program.

Each process calls `initialize` before it touches a device. After that `jax.devices()` has the devices of all
processes, and a mesh over them works like any other: `Program.put_batch` takes the whole batch on every
process and sends only the rows of the process's own devices.
"""

import jax

from tunix_rt.engines.base import ProcessGroup
from tunix_rt.engines.process_groups import DEFAULT_TIMEOUT_S, coordinator_address, wait_for_process_0


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
    processes = ProcessGroup(coordinator, num_processes, process_id)
    coordinator_address(processes)
    # JAX aborts a process that cannot reach process 0; a wrong address must be an error instead.
    wait_for_process_0(processes, timeout_s)
    jax.distributed.initialize(coordinator, num_processes, process_id, initialization_timeout=timeout_s)
