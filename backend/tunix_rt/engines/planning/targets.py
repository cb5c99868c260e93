"""Plan targets: known hardware and this machine."""

import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.host import available_memory_bytes, usable_cores
from tunix_rt.engines.types import Platform

GIB = 1024**3
GPU_MEMORY_FRACTION = 0.92
"""Share of a GPU's memory for the engine's allocator; the rest is for the driver and its libraries."""

LOCAL = "local"
CPU = "cpu"


@dataclass(frozen=True)
class TpuTopology:
    """The TPU compiler's name for an absent slice."""

    name: str
    accelerator_type: str
    chips_per_host_bounds: tuple[int, int, int]


@dataclass(frozen=True)
class Target:
    """Devices of one kind. All figures are per device."""

    name: str
    description: str
    platform: Platform
    num_devices: int
    memory_bytes: int
    """Memory that a program may use, not the nominal size."""
    memory_source: str
    peak_flops: float
    """Dense bfloat16 matrix products a second; float32 where the device has no bfloat16 units."""
    bytes_per_s: float
    """Between memory and cores."""
    link_bytes_per_s: float
    """To the other devices; 0 for a single device."""
    speed_source: str
    device_kind: str
    """JAX's name of the device, or its prefix."""
    topology: TpuTopology | None = None
    compute_capability: tuple[int, int] | None = None
    """Of an NVIDIA GPU; decides which kernels it supports."""
    notes: tuple[str, ...] = ()


class _TpuChip(NamedTuple):
    kind: str
    memory_gib: float
    peak_tflops: float
    gb_per_s: float
    link_gb_per_s: float


# A v3 chip has two cores that are devices of their own: half of the chip's speed and memory each.
_V3 = _TpuChip("TPU v3", 15.48, 61.5, 450, 41)
_V5E = _TpuChip("TPU v5 lite", 15.75, 197, 819, 200)
_V6E = _TpuChip("TPU v6 lite", 31.25, 918, 1638, 448)


def _tpu(name: str, chip: _TpuChip, num_devices: int, topology: TpuTopology) -> Target:
    return Target(
        name=name,
        description=f"{num_devices} x {chip.kind}",
        platform="tpu",
        num_devices=num_devices,
        memory_bytes=int(chip.memory_gib * GIB),
        memory_source="the limit that XLA:TPU itself reports for this chip",
        peak_flops=chip.peak_tflops * 1e12,
        bytes_per_s=chip.gb_per_s * 1e9,
        link_bytes_per_s=chip.link_gb_per_s * 1e9 if num_devices > 1 else 0.0,
        speed_source="Google Cloud TPU documentation",
        device_kind=chip.kind,
        topology=topology,
    )


def _gpu(
    name: str,
    kind: str,
    compute_capability: tuple[int, int],
    total_mib: int,
    peak_tflops: float,
    gb_per_s: float,
    *notes: str,
) -> Target:
    return Target(
        name=name,
        description=f"1 x {kind}",
        platform="gpu",
        num_devices=1,
        memory_bytes=int(total_mib * 1024**2 * GPU_MEMORY_FRACTION),
        memory_source=f"{GPU_MEMORY_FRACTION:.0%} of the {total_mib:,} MiB that nvidia-smi reports",
        peak_flops=peak_tflops * 1e12,
        bytes_per_s=gb_per_s * 1e9,
        link_bytes_per_s=0.0,
        speed_source="NVIDIA data sheet, dense, float32 accumulation",
        device_kind=kind,
        compute_capability=compute_capability,
        notes=notes,
    )


_NO_BFLOAT16 = "This card has no bfloat16 units: products run in float32, 8.1 TFLOP/s at best."

_KNOWN = (
    _tpu("v3-8", _V3, 8, TpuTopology("v3:2x2", "v3-8", (2, 2, 1))),
    _tpu("v5e-1", _V5E, 1, TpuTopology("v5e:1x1", "v5litepod-1", (1, 1, 1))),
    _tpu("v5e-8", _V5E, 8, TpuTopology("v5e:2x4", "v5litepod-8", (2, 4, 1))),
    _tpu("v6e-1", _V6E, 1, TpuTopology("v6e:1x1", "v6e-1", (1, 1, 1))),
    _tpu("v6e-8", _V6E, 8, TpuTopology("v6e:2x4", "v6e-8", (2, 4, 1))),
    _gpu("t4", "Tesla T4", (7, 5), 15_360, 8.1, 320, _NO_BFLOAT16),
    _gpu("l4", "NVIDIA L4", (8, 9), 23_034, 121, 300),
    _gpu("rtx4090", "NVIDIA GeForce RTX 4090", (8, 9), 24_564, 165.2, 1008),
    _gpu("rtx5090", "NVIDIA GeForce RTX 5090", (12, 0), 32_607, 209.5, 1792),
    _gpu("a100", "NVIDIA A100", (8, 0), 81_920, 312, 2039),
    _gpu("h100", "NVIDIA H100", (9, 0), 81_559, 989.4, 3350),
    _gpu("h200", "NVIDIA H200", (9, 0), 143_771, 989.4, 4800),
)
TARGETS = {target.name: target for target in _KNOWN}
"""Targets that need not be present, by name."""
TARGET_NAMES = (CPU, LOCAL, *TARGETS)


def target_of_device_kind(kind: str) -> Target | None:
    """The known target with this JAX or nvidia-smi device name; None for others.

    Example:
        "NVIDIA H100 80GB HBM3" -> h100
    """
    words = kind.replace("-", " ")
    return next((target for target in _KNOWN if f"{words} ".startswith(f"{target.device_kind} ")), None)


# Two 256-bit FMA units of 8 floats at 2.5 GHz: the order of magnitude of a server core.
_FLOPS_PER_CORE = 80e9
_BYTES_PER_S = 20e9
_NVIDIA_SMI_TIMEOUT_S = 5


def find_target(name: str) -> Target:
    """A target by name; `cpu` and `local` are looked up on this machine.

    Raises:
        InvalidInputError: There is no such target.
    """
    if name == CPU:
        return cpu_target()
    if name == LOCAL:
        return replace(_local_gpu() or cpu_target(), name=LOCAL)
    if name in TARGETS:
        return TARGETS[name]
    raise InvalidInputError(
        f"There is no target {name!r}.",
        next_step=f"{did_you_mean(name, TARGET_NAMES)} docs/planning.md lists the targets.",
    )


def cpu_target() -> Target:
    """The processors of this machine as one device."""
    cores, available = usable_cores(), available_memory_bytes()
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Target(
        name=CPU,
        description=f"{cores} processor cores",
        platform="cpu",
        num_devices=1,
        memory_bytes=total if available is None else available,
        memory_source="memory that this machine has available now",
        peak_flops=cores * _FLOPS_PER_CORE,
        bytes_per_s=_BYTES_PER_S,
        link_bytes_per_s=0.0,
        speed_source=f"{_FLOPS_PER_CORE / 1e9:.0f} GFLOP/s a core, assumed",
        device_kind="cpu",
    )


def _local_gpu() -> Target | None:
    """The NVIDIA GPUs that nvidia-smi lists, if their kind is known."""
    if shutil.which("nvidia-smi") is None:
        return None
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=_NVIDIA_SMI_TIMEOUT_S)
    cards = [line.rsplit(",", 1) for line in done.stdout.splitlines() if "," in line]
    known = target_of_device_kind(cards[0][0].strip()) if cards and done.returncode == 0 else None
    if known is None:
        return None
    total_mib = min(int(memory) for _, memory in cards)
    return replace(
        known,
        description=f"{len(cards)} x {cards[0][0].strip()} of this machine",
        num_devices=len(cards),
        memory_bytes=int(total_mib * 1024**2 * GPU_MEMORY_FRACTION),
        memory_source=f"{GPU_MEMORY_FRACTION:.0%} of the {total_mib:,} MiB that nvidia-smi reports here",
    )


class Devices(Protocol):
    """The chosen devices of a run, in both engines. As text: kind, number and reason."""

    @property
    def platform(self) -> Platform:
        """Of all of them."""

    @property
    def kind(self) -> str:
        """Their kind, e.g. `NVIDIA H200`."""

    @property
    def count(self) -> int:
        """Their number, over all processes."""

    @property
    def memory_bytes(self) -> int | None:
        """Memory of one device; None when it is not reported."""

    def peak_memory_bytes(self) -> int | None:
        """Peak memory of one device of this process so far; on a CPU, of the process."""


def device_target(devices: Devices) -> Target:
    """The devices of a run as a target: their own memory, and the speed of their kind."""
    target = cpu_target() if devices.platform == "cpu" else target_of_device_kind(devices.kind)
    if target is None:
        target = replace(
            TARGETS["t4"],
            speed_source=f"{devices.kind} is not known here; that of a T4 is assumed",
        )
    return replace(
        target,
        name="local",
        description=f"{devices.count} x {devices.kind}",
        num_devices=devices.count,
        memory_bytes=devices.memory_bytes or target.memory_bytes,
        memory_source="what the device reports" if devices.memory_bytes else target.memory_source,
        device_kind=devices.kind,
    )


def peak_flops(devices: Devices) -> float | None:
    """Peak FLOPs of all devices together; None if unknown, as for a CPU."""
    target = None if devices.platform == "cpu" else target_of_device_kind(devices.kind)
    return None if target is None else target.peak_flops * devices.count
