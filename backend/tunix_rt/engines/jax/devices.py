"""Device selection with a functional check; multi-process initialisation.

Each process calls `initialize` before it touches a device. After that `jax.devices()` lists the devices of
all processes, and a mesh over them works like any other: `Program.put_batch` takes the whole batch on every
process and transfers only the rows of that process's devices.
"""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from tunix_rt.base.errors import DeviceError, InvalidInputError
from tunix_rt.base.host import available_memory_bytes, peak_process_bytes
from tunix_rt.engines.planning.targets import GPU_MEMORY_FRACTION
from tunix_rt.engines.select import has_tpu
from tunix_rt.engines.training.job import (
    DEFAULT_TIMEOUT_S,
    ProcessGroup,
    coordinator_address,
    wait_for_process_0,
)
from tunix_rt.engines.types import DeviceRequest, Platform

# JAX does not accept its alias `gpu` everywhere.
_JAX_PLATFORM: dict[Platform, str] = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}

_INSTALL_HINTS: dict[Platform, str] = {
    "cpu": "Unset JAX_PLATFORMS and run it again.",
    "gpu": "On Kaggle: Settings > Accelerator > GPU T4 x2. Elsewhere: install the NVIDIA driver, then "
    "pip install 'jax[cuda13]'. Or run with --device cpu.",
    "tpu": "On Kaggle: Settings > Accelerator > TPU v5e-8. On a Cloud TPU VM: pip install 'jax[tpu]'. "
    "Or run with --device auto.",
}


@dataclass(frozen=True)
class DeviceChoice:
    """The devices of a run, each of them checked."""

    platform: Platform
    devices: tuple[jax.Device, ...]
    reason: str
    memory_bytes: int | None
    """Memory of one device; None if it does not report it."""

    @property
    def kind(self) -> str:
        """Device kind, e.g. `TPU v5 lite`."""
        return str(self.devices[0].device_kind)

    @property
    def count(self) -> int:
        """Number of devices over all processes."""
        return len(self.devices)

    def peak_memory_bytes(self) -> int | None:
        """Peak memory of any device of this process; on CPU, of the process."""
        if self.platform == "cpu":
            return peak_process_bytes()
        stats = [
            device.memory_stats() for device in self.devices if device.process_index == jax.process_index()
        ]
        return max((int(stat["peak_bytes_in_use"]) for stat in stats if stat), default=None)

    def __str__(self) -> str:
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.2f} GiB each"
        return f"{self.platform}: {len(self.devices)} x {self.kind}{memory} ({self.reason})"


def join(processes: ProcessGroup, request: DeviceRequest) -> None:
    """Join a multi-process run; call this before anything that touches a device."""
    if request.name != "auto":
        jax.config.update("jax_platforms", _platforms(request.name))
    initialize(processes.coordinator, processes.num_processes, processes.process_id)


def initialize(
    coordinator: str, num_processes: int, process_id: int, *, timeout_s: int = DEFAULT_TIMEOUT_S
) -> None:
    """Join the other processes; return when all have joined.

    Args:
        coordinator: `host:port` that process 0 listens on and the others can reach.
        num_processes: Number of processes of the run.
        process_id: Index of this process, from 0.
        timeout_s: How long to wait for the others.

    Raises:
        InvalidInputError: The address is invalid, or `process_id` is out of range.
        DeviceError: Nothing listens at the coordinator's address.
    """
    processes = ProcessGroup(coordinator, num_processes, process_id)
    coordinator_address(processes)
    # JAX aborts a process that cannot reach process 0; raise an error instead.
    wait_for_process_0(processes, timeout_s)
    jax.distributed.initialize(coordinator, num_processes, process_id, initialization_timeout=timeout_s)


def choose_device(request: DeviceRequest) -> DeviceChoice:
    """Select the devices, check that they work, and record the reason for the choice.

    Raises:
        DeviceError: The requested device does not exist or does not work.
    """
    # The default of 75 % leaves a quarter of every card unused.
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", str(GPU_MEMORY_FRACTION))
    if request.name == "auto":
        platform, devices, reason = _auto_select()
    else:
        platform, reason = request.name, f"--device {request.name}"
        devices = _devices_of(platform)
    if request.index is not None:
        if request.index >= len(devices):
            raise InvalidInputError(
                f"There is no device {request.index}: this machine has {len(devices)}, counted from 0.",
                next_step="Choose a smaller index, or leave it out to use all devices.",
            )
        devices = (devices[request.index],)
    for device in devices:
        if device.process_index == jax.process_index():
            _check_device(device, platform)
    return DeviceChoice(platform, devices, reason, _memory_bytes(platform, devices))


def _auto_select() -> tuple[Platform, tuple[jax.Device, ...], str]:
    """The fastest platform that works. One without a device file is not initialised, which can be slow."""
    misses: list[str] = []
    missing_by_platform: dict[Platform, str | None] = {"tpu": None, "gpu": None}
    if not has_tpu():
        missing_by_platform["tpu"] = "this machine has no TPU device file"
    elif not importlib.util.find_spec("libtpu"):
        missing_by_platform["tpu"] = "libtpu is not installed"
    if not Path("/dev/nvidiactl").exists():
        missing_by_platform["gpu"] = "this machine has no NVIDIA device file"
    elif not any(map(importlib.util.find_spec, ("jax_cuda12_plugin", "jax_cuda13_plugin"))):
        missing_by_platform["gpu"] = "no CUDA plugin of JAX is installed"
    for platform, missing in missing_by_platform.items():
        if missing is None:
            try:
                return platform, _devices_of(platform), f"auto: a {platform.upper()} is there"
            except DeviceError as error:
                missing = str(error.__cause__ or error.detail)
        misses.append(f"no {platform.upper()}: {missing}")
    return "cpu", _devices_of("cpu"), f"auto: {'; '.join(misses)}"


def _devices_of(platform: Platform) -> tuple[jax.Device, ...]:
    jax.config.update("jax_platforms", _platforms(platform))
    try:
        return tuple(jax.devices(_JAX_PLATFORM[platform]))
    except RuntimeError as error:
        raise DeviceError(
            f"There is no {platform.upper()} that JAX can use on this machine.",
            next_step=_INSTALL_HINTS[platform],
        ) from error


def _platforms(platform: Platform) -> str:
    """The platform plus the host, which JAX uses for work off the accelerator."""
    name = _JAX_PLATFORM[platform]
    return name if name == "cpu" else f"{name},cpu"


def _check_device(device: jax.Device, platform: Platform) -> None:
    """Multiply two small matrices: a listed device may still be in use, broken or out of memory."""
    try:
        ones = jax.device_put(jnp.ones((8, 8), jnp.float32), device)
        is_right = float((ones @ ones).sum()) == 512.0
    except jax.errors.JaxRuntimeError as error:
        raise DeviceError(
            f"{device} is there but does not work: {error}",
            next_step="Check that no other process holds it (nvidia-smi), then run it again. "
            + _INSTALL_HINTS[platform],
        ) from error
    if not is_right:
        raise DeviceError(
            f"{device} cannot multiply two matrices.", next_step="Use another device: this one is faulty."
        )


def _memory_bytes(platform: Platform, devices: tuple[jax.Device, ...]) -> int | None:
    if platform == "cpu":
        available = available_memory_bytes()
        # Simulated devices share the host memory.
        return None if available is None else available // len(devices)
    local = next(device for device in devices if device.process_index == jax.process_index())
    stats = local.memory_stats() or {}
    return int(stats["bytes_limit"]) if "bytes_limit" in stats else None


def is_out_of_memory(error: BaseException) -> bool:
    """Whether XLA reports that a program or an array does not fit on the device."""
    messages = ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory")
    return isinstance(error, jax.errors.JaxRuntimeError) and any(text in str(error) for text in messages)
