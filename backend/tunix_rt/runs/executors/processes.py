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
from collections.abc import Callable, Iterable, Iterator
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
    start = _start_by_proc(pid) if HAS_PROC else _start_by_ps(pid)
    return None if start is None else f"{machine()}:{start}"


def is_gone(pid: int, start: str) -> bool:
    """Whether that process is certainly dead; always False for processes of other machines."""
    return is_here(start) and process_start(pid) != start


def is_here(start: str) -> bool:
    """Whether a process with this start is on this machine."""
    return start.startswith(f"{machine()}:")


def descendants(pid: int) -> list[int]:
    """Every living process below `pid`, nearest first."""
    children: dict[int, list[int]] = {}
    for other, stat in _stats():
        if stat[_STATE] not in _DEAD:
            children.setdefault(int(stat[_PARENT]), []).append(other)
    found = [pid]
    for parent in found:  # grows while it is walked
        found += children.get(parent, [])
    return found[1:]


def processes_with(variable: str, value: str) -> list[int]:
    """Every living process with this in its environment."""
    entry = f"{variable}={value}".encode()
    found = []
    for pid, stat in _stats():
        with suppress(OSError):
            if stat[_STATE] not in _DEAD and entry in (_PROC / str(pid) / "environ").read_bytes().split(
                b"\0"
            ):
                found.append(pid)
    return found


def kill_until_none(find: Callable[[], Iterable[int]], *, within_s: float) -> bool:
    """Kill what `find` returns until it returns nothing; False if something is left."""
    return wait_until(lambda: not _killed(find()), within_s=within_s)


def wait_until(is_true: Callable[[], bool], *, within_s: float) -> bool:
    """Poll a condition until it is true or the time is over; returns its last value."""
    deadline_s = time.monotonic() + within_s
    while not is_true():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(_POLL_S)
    return True


def _killed(pids: Iterable[int]) -> list[int]:
    found = list(pids)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return found


def _stats() -> Iterator[tuple[int, list[str]]]:
    if not HAS_PROC:
        return
    for entry in os.listdir(_PROC):
        if entry.isdecimal() and (stat := _stat(int(entry))) is not None:
            yield int(entry), stat


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _start_by_proc(pid: int) -> str | None:
    stat = _stat(pid)
    return None if stat is None or stat[_STATE] in _DEAD else stat[_START]


def _start_by_ps(pid: int) -> str | None:
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
    return answer.stdout.strip() or None
