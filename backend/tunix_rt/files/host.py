"""What this machine, or the container around us, gives this process: memory and cores."""

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def available_memory_bytes() -> int | None:
    """What a program may still take: free memory, or what the container has left if that is less.

    None where the system does not tell.
    """
    free = _field(Path("/proc/meminfo"), "MemAvailable:")
    rooms = [room for room in (free, _container_room()) if room is not None]
    return min(rooms, default=None)


def peak_process_bytes() -> int | None:
    """The most memory that this process has used so far; None where the system does not tell."""
    return _field(Path("/proc/self/status"), "VmHWM:")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores that work for this process: those it may run on, or its container's share if that is less."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _container_cores(cgroup)
    return allowed if share is None else max(1, min(allowed, math.ceil(share)))


def _field(path: Path, name: str) -> int | None:
    """The value of a line such as `VmHWM:   1234 kB`, in bytes."""
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return None


def _container_room() -> int | None:
    limit, used = _CGROUP / "memory.max", _CGROUP / "memory.current"
    if not limit.exists() or not used.exists():
        return None
    text = limit.read_text().strip()
    return None if text == "max" else int(text) - int(used.read_text())


def _container_cores(cgroup: Path) -> float | None:
    """The limit that `docker run --cpus` sets, in either version of control groups; None: there is none."""
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu/cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError):  # no such files, or the word `max`
        return None
