"""The targets that depend on this machine: its processors, or the accelerator that is in it."""

import os
import shutil
import subprocess
from dataclasses import replace

from tunix_rt.base.host import available_memory_bytes, usable_cores
from tunix_rt.core.targets import CPU, GPU_MEMORY_FRACTION, LOCAL, Target, known_target, target_of_device_kind

# Two 256-bit units, each a fused multiply-add of 8 floats, at 2.5 GHz: the order of a server core.
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
    return known_target(name)


def cpu_target() -> Target:
    """The processors of this machine as one device."""
    cores = usable_cores()
    return Target(
        name=CPU,
        description=f"{cores} processor cores",
        platform="cpu",
        num_devices=1,
        memory_bytes=_available_memory(),
        memory_source="memory that this machine has available now",
        peak_flops=cores * _FLOPS_PER_CORE,
        bytes_per_s=_BYTES_PER_S,
        link_bytes_per_s=0.0,
        speed_source=f"{_FLOPS_PER_CORE / 1e9:.0f} GFLOP/s a core, assumed",
        device_kind="cpu",
    )


def _available_memory() -> int:
    available = available_memory_bytes()
    if available is not None:
        return available
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _local_gpu() -> Target | None:
    """The NVIDIA GPUs that nvidia-smi lists, when they are of a known kind."""
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
