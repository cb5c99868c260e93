"""Run `tunix-rt` commands in child processes or in this process, and start a live server."""

import io
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import main

PROGRAM = [sys.executable, "-m", "tunix_rt.cli"]
START_TIMEOUT_S = 60


def environment(settings: Settings | None = None, **more: str) -> dict[str, str]:
    """Return the environment of a child process that uses the store of `settings`."""
    named = {name: value for name, value in os.environ.items() if not name.startswith("TUNIX_RT_")}
    if settings is not None:
        named["TUNIX_RT_HOME"] = str(settings.home_dir)
        if settings.database_url is not None:
            named["TUNIX_RT_DATABASE_URL"] = settings.database_url
    return named | more


def run_program(
    *arguments: str | Path, settings: Settings | None = None, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run `tunix-rt …` and wait for it. `more` is added to its environment."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        env=environment(settings, **more),
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def run_here(
    *arguments: str | Path, settings: Settings | None = None, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Do what `run_program` does, but in this process, which is faster."""
    return _run_here(main, ["tunix-rt", *map(str, arguments)], environment(settings, **more), stdin)


def run_script_here(
    script: Path, *arguments: str | Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a launcher script in this process."""
    command = [str(script), *map(str, arguments)]
    return _run_here(lambda: runpy.run_path(str(script), run_name="__main__"), command, environ)


def _run_here(
    entry: Callable[[], object], command: list[str], environ: Mapping[str, str], stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environ.keys():
            patch.delenv(name)
        for name, value in environ.items():
            patch.setenv(name, value)
        for name, value in {
            "argv": command,
            "stdin": io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"),
            "stdout": out,
            "stderr": err,
            "excepthook": sys.excepthook,
        }.items():
            patch.setattr(sys, name, value)
        try:
            entry()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
    stdout, stderr = (_contents(stream) for stream in (out, err))
    return subprocess.CompletedProcess(command, code, stdout, stderr)


def _contents(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def start_program(
    *arguments: str | Path, environ: Mapping[str, str], stdout: int = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """Start `tunix-rt …` in a child process."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], env=environ, stdout=stdout, stderr=subprocess.PIPE, text=True
    )


class LiveServer:
    """A running `tunix-rt up`."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self._process = process
        self._log = log
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def connect(self) -> socket.socket:
        """Open a socket, for requests that no HTTP client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def log(self) -> str:
        """Return its standard error so far."""
        return self._log.read_text(encoding="utf-8")

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self._process.terminate()
        return self._process.wait(timeout=60)

    def has_open(self, path: Path) -> bool:
        """Return whether the server has this file open; False without /proc."""
        links = Path(f"/proc/{self._process.pid}/fd").glob("*")
        return str(path) in {os.readlink(link) for link in links if link.is_symlink()}

    def peak_memory_mib(self) -> float:
        """Return the peak memory of the server; 0 without /proc."""
        file = Path(f"/proc/{self._process.pid}/status")
        if not file.exists():
            return 0.0
        status = file.read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


@contextmanager
def live_server(settings: Settings, *arguments: str, **more: str) -> Iterator[LiveServer]:
    """Run a server on a free port, without a worker, until the context ends."""
    port = free_port()
    # The log goes to a file: the server would block on a pipe that nobody reads.
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "server.log"
        with log.open("w") as file:
            command = [*PROGRAM, "up", "--no-worker", "--port", str(port), *arguments]
            process = subprocess.Popen(command, env=environment(settings, **more), stderr=file, text=True)
        with process:
            try:
                _wait_until_listening(process, port, log)
                yield LiveServer(process, port, log)
            finally:
                process.terminate()
                process.wait(timeout=60)


def _wait_until_listening(process: subprocess.Popen[str], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")


def free_port() -> int:
    """Return a TCP port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
