"""Process trees of this machine. Standard library only.

A process is identified by its pid *and* its start, since pids are reused. On Linux both come from /proc;
elsewhere from `ps`, which does not find processes that left their group.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

HAS_PROC = sys.platform == "linux"
_PROC = Path("/proc")
_POLL_S = 0.02
# Fields of /proc/<pid>/stat after the name, which may itself contain spaces and parentheses.
_STATE, _PARENT, _START = 0, 1, 19
_DEAD = ("Z", "X")


@cache
def machine() -> str:
    """The scope of pids: this boot of this kernel and this pid namespace."""
    if not HAS_PROC:
        return socket.gethostname()
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    namespace = os.readlink("/proc/self/ns/pid").removeprefix("pid:[").removesuffix("]")
    return f"{boot}:{namespace}"


def process_start(pid: int) -> str | None:
    """When and where the process started; None if there is none, or only a zombie."""
    if HAS_PROC:
        stat = _stat(pid)
        start = "" if stat is None or stat[_STATE] in _DEAD else stat[_START]
    else:
        answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
        start = answer.stdout.strip()
    return f"{machine()}:{start}" if start else None


def is_gone(pid: int, start: str) -> bool:
    """Whether that process is certainly dead; always False for processes of other machines."""
    return is_here(start) and process_start(pid) != start


def is_here(start: str) -> bool:
    """Whether a process with this start is on this machine."""
    return start.startswith(f"{machine()}:")


def descendants(pid: int) -> list[int]:
    """Every living process below `pid`, nearest first."""
    children: dict[int, list[int]] = {}
    for other, parent in _living().items():
        children.setdefault(parent, []).append(other)
    found = [pid]
    for above in found:  # grows while it is walked
        found += children.get(above, [])
    return found[1:]


def processes_with(variable: str, value: str) -> list[int]:
    """Every living process with this in its environment."""
    entry = f"{variable}={value}".encode()
    found = []
    for pid in _living():
        with suppress(OSError):
            if entry in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def kill_until_none(find: Callable[[], Iterable[int]], *, within_s: float) -> bool:
    """Kill what `find` returns until it returns nothing; False if something is left."""

    def are_all_gone() -> bool:
        found = list(find())
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not found

    return wait_until(are_all_gone, within_s=within_s)


def wait_until(is_true: Callable[[], bool], *, within_s: float) -> bool:
    """Poll a condition until it is true or the time is over; returns its last value."""
    deadline_s = time.monotonic() + within_s
    while not is_true():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_POLL_S)
    return True


def _living() -> dict[int, int]:
    """Every living process, and its parent."""
    pids = [int(name) for name in os.listdir(_PROC) if name.isdecimal()] if HAS_PROC else []
    stats = {pid: stat for pid in pids if (stat := _stat(pid)) is not None}
    return {pid: int(stat[_PARENT]) for pid, stat in stats.items() if stat[_STATE] not in _DEAD}


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
