"""Memory of this machine and of this process; None where the system does not tell."""

from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def available_memory_bytes() -> int | None:
    """What a program may still take: free memory, or what the container has left if that is less."""
    free = _field(Path("/proc/meminfo"), "MemAvailable:")
    rooms = [room for room in (free, _container_room()) if room is not None]
    return min(rooms, default=None)


def peak_process_bytes() -> int | None:
    """The most memory that this process has used so far."""
    return _field(Path("/proc/self/status"), "VmHWM:")


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
