"""Functions that read hostile input, run in a child process that the operating system confines.

On Linux a seccomp filter leaves the child the system calls that computing needs: it cannot start processes,
open connections, or change files. Time, memory and the size of a reply are limited on every platform.
Arguments and results are JSON; nothing is unpickled.
"""

import atexit
import ctypes
import errno
import importlib
import json
import logging
import os
import platform
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Generic, ParamSpec, TypeVar

logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")

_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What a child inherits. Access tokens and API keys are in none of these variables."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# With the parent's path and never the working directory, whose files a stranger may have written.
_START = f"import sys; sys.path[:] = {{path!r}}; from {__name__} import serve; serve()"
_MAX_STDERR_BYTES = 64 << 10


@dataclass(frozen=True)
class Limits:
    """What one call may use."""

    cpu_s: float = 5.0
    """CPU time, not wall-clock time: a busy machine must not change a result."""
    wall_s: float = 300.0
    """Limit for a child that waits instead of computing."""
    memory_bytes: int = 4 << 30
    reply_bytes: int = 16 << 20


class SandboxError(Exception):
    """The function raised, or its process exceeded a limit; the message says which."""


class Sandbox(Generic[P, R]):
    """Runs one module-level function in a confined child, started on demand and restarted after it died.

    Calls from several threads take turns.

    Example:
        double = Sandbox(_double)  # def _double(number: int) -> int, at the top of a module
        double(21)  # 42
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        prepare: Callable[[], object] | None = None,
        limits: Limits = Limits(),  # noqa: B008
        can_read_files: bool = False,
    ) -> None:
        """`prepare` runs once in a new child, unconfined: imports take seconds and do not count.

        With `can_read_files`, the function may import modules and read files.
        """
        self._limits = limits
        self._task = {
            "function": _name(function),
            "prepare": prepare and _name(prepare),
            "limits": asdict(limits),
            "can_read_files": can_read_files,
        }
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        atexit.register(self._end_child)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        """The result of the function, which JSON must be able to hold.

        Raises:
            SandboxError: The function raised, or the child exceeded a limit.
        """
        request = json.dumps([arguments, options]).encode() + b"\n"
        with self._lock:
            child = self._running_child()
            reply = self._exchange(child, request)
            if reply is None:
                self._end_child()
                raise SandboxError(self._limit_exceeded())
        if "error" in reply:
            raise SandboxError(reply["error"])
        result: R = reply["result"]
        return result

    def close(self) -> None:
        """End the child; the next call starts another."""
        with self._lock:
            self._end_child()

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            if not filters_system_calls():
                logger.warning("On this platform, hostile input is limited in time and memory, not confined.")
            environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            # A file, not a pipe: nobody reads it while the child computes.
            with tempfile.TemporaryFile() as stderr:
                child = subprocess.Popen(
                    [sys.executable, "-P", "-c", _START.format(path=[entry for entry in sys.path if entry])],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=environment | _ONE_THREAD,
                )
                self._child = child
                if self._exchange(child, json.dumps(self._task).encode() + b"\n") is None:
                    self._end_child()
                    stderr.seek(0)
                    lines = stderr.read(_MAX_STDERR_BYTES).decode(errors="replace").strip().splitlines()
                    raise SandboxError(f"its process did not start: {lines[-1] if lines else 'no message'}")
        return self._child

    def _exchange(self, child: subprocess.Popen[bytes], request: bytes) -> dict[str, Any] | None:
        """One line there and one back; None if the child died or its reply is not valid."""
        assert child.stdin is not None
        assert child.stdout is not None
        timer = threading.Timer(self._limits.wall_s, child.kill)
        timer.daemon = True
        timer.start()
        try:
            child.stdin.write(request)
            child.stdin.flush()
            line = child.stdout.readline(self._limits.reply_bytes + 1)
            reply = json.loads(line) if line.endswith(b"\n") else None
        except (OSError, ValueError):
            return None
        finally:
            timer.cancel()
        return reply if isinstance(reply, dict) else None

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            with child:
                pass

    def _limit_exceeded(self) -> str:
        limits = self._limits
        return (
            f"needed more than {limits.cpu_s:g} s of computing, {limits.memory_bytes >> 20:,} MiB of memory "
            f"or {limits.reply_bytes >> 20:,} MiB of output"
        )


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded


def serve() -> None:
    """The child: prepare, give up every right that computing does not need, then answer line by line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The library may print; only replies go to the parent.
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = json.loads(requests.readline())
    limits = Limits(**task["limits"])
    function = _load(task["function"])
    if task["prepare"]:
        _load(task["prepare"])()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(int).result()  # A thread needs stack space, which the limit would count.
        confine(limits, can_read_files=task["can_read_files"])
        _reply(replies, {"result": "ready"})
        for line in requests:
            arguments, options = json.loads(line)
            _set_timers(limits.cpu_s, limits.wall_s)
            # A future captures any exception, and a library may raise anything.
            future = thread.submit(function, *arguments, **options)
            error = future.exception()
            _set_timers(0, 0)
            message = {"error": f"{type(error).__name__}: {error}"} if error else {"result": future.result()}
            _reply(replies, message)


def _reply(replies: IO[bytes], message: Mapping[str, object]) -> None:
    replies.write(json.dumps(message).encode() + b"\n")
    replies.flush()


def _set_timers(cpu_s: float, wall_s: float) -> None:
    """Unhandled signals end the process, even inside a single long multiplication."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        signal.setitimer(signal.ITIMER_REAL, wall_s)


def confine(limits: Limits, *, can_read_files: bool) -> None:
    """Limit this process until it exits: memory everywhere, system calls where Linux filters them."""
    sys.dont_write_bytecode = True
    if sys.platform == "win32":
        return
    import resource

    # With many cores, the threads of libraries reserve gigabytes before the first call.
    _lower_limit(resource.RLIMIT_AS, _reserved_bytes() + limits.memory_bytes)
    _lower_limit(resource.RLIMIT_FSIZE, _MAX_STDERR_BYTES)
    _lower_limit(resource.RLIMIT_CORE, 0)
    if filters_system_calls():
        _filter_system_calls(_ARCHITECTURES[platform.machine()], can_read_files=can_read_files)


def filters_system_calls() -> bool:
    """Whether this platform confines a child's system calls. Elsewhere only time and memory are limited."""
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES


def _lower_limit(kind: int, value: int) -> None:
    if sys.platform != "win32":
        import resource

        _, allowed = resource.getrlimit(kind)
        value = value if allowed == resource.RLIM_INFINITY else min(value, allowed)
        resource.setrlimit(kind, (value, value))


def _reserved_bytes() -> int:
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE") if statm.is_file() else 0


# audit architecture, and the column of its numbers below
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# The calls of an interpreter that computes, by their numbers on x86-64 and on AArch64.
# 1000 stands for "does not exist there".
_ALLOWED = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "poll": (7, 1000),
    "lseek": (8, 62), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "pread64": (17, 67),
    "readv": (19, 65), "writev": (20, 66), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "nanosleep": (35, 101), "getitimer": (36, 102), "setitimer": (38, 103),
    "getpid": (39, 172), "exit": (60, 93), "uname": (63, 160), "fcntl": (72, 25), "getcwd": (79, 17),
    "gettimeofday": (96, 169), "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179),
    "times": (100, 153), "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175),
    "getegid": (108, 177), "getppid": (110, 173), "sigaltstack": (131, 132), "arch_prctl": (158, 1000),
    "gettid": (186, 178), "futex": (202, 98), "sched_getaffinity": (204, 123), "set_tid_address": (218, 96),
    "restart_syscall": (219, 128), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "exit_group": (231, 94), "ppoll": (271, 73), "set_robust_list": (273, 99),
    "getrandom": (318, 278), "membarrier": (324, 283), "rseq": (334, 293),
}  # fmt: skip
_ALLOWED_TO_READERS = {
    "stat": (4, 1000), "lstat": (6, 1000), "access": (21, 1000), "readlink": (89, 1000),
    "getdents64": (217, 61), "newfstatat": (262, 79), "readlinkat": (267, 78), "faccessat": (269, 48),
    "statx": (332, 291), "faccessat2": (439, 439),
}  # fmt: skip
_OPEN, _OPENAT = (2, 1000), (257, 56)
_CLONE, _CLONE3, _IOCTL, _SECCOMP = (56, 220), (435, 435), (16, 29), (317, 277)
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x00010000

# Classic BPF, as seccomp takes it: opcode, jump if true, jump if false, operand.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_SET_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1


def _filter_system_calls(architecture: tuple[int, int], *, can_read_files: bool) -> None:
    audit, column = architecture
    program = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL)]
    program.append((_LOAD, 0, 0, _NUMBER_AT))
    for call in (_ALLOWED | _ALLOWED_TO_READERS if can_read_files else _ALLOWED).values():
        program += [(_EQUAL, 0, 1, call[column]), (_RETURN, 0, 0, _ALLOW)]
    denied = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    if can_read_files:
        for call, flags_at in ((_OPEN, 1), (_OPENAT, 2)):
            program += _if_argument(call[column], flags_at, _WRITE_FLAGS, if_any=denied)
    # A new thread, not a new process. The C library falls back to `clone` when `clone3` does not exist.
    is_thread = (_RETURN, 0, 0, _ALLOW)
    program += _if_argument(_CLONE[column], 0, _CLONE_THREAD, if_any=is_thread, otherwise=denied)
    program += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    program += [(_EQUAL, 0, 1, _IOCTL[column]), (_RETURN, 0, 0, _ERRNO | errno.ENOTTY)]
    program.append(denied)
    _install(program, _SECCOMP[column])


_Instruction = tuple[int, int, int, int]


def _if_argument(
    number: int, position: int, bits: int, *, if_any: _Instruction, otherwise: _Instruction | None = None
) -> list[_Instruction]:
    """For one call: `if_any` when the argument has any of these bits, else `otherwise` (default: allow)."""
    return [
        (_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * position),
        (_ANY_BIT, 0, 1, bits),
        if_any,
        otherwise or (_RETURN, 0, 0, _ALLOW),
    ]


def _install(program: list[_Instruction], seccomp: int) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    # Threads of libraries exist already; without `_ALL_THREADS` they would keep every right.
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(
        seccomp, _SET_FILTER, _ALL_THREADS, header
    ):
        raise OSError(ctypes.get_errno(), "the kernel refused the system call filter")
