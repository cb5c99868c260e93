"""tunix-rt up; tunix-rt worker, with sweeps as a periodic chore."""

import errno
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import open_home
from tunix_rt.base.logs import configure_logs
from tunix_rt.base.settings import Settings, load_settings
from tunix_rt.base.terminal.output import note
from tunix_rt.runs.types import ExecutorName, parse_slot
from tunix_rt.runs.worker.background import background_worker
from tunix_rt.sweeps.advance import advance_all
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import is_loopback

if TYPE_CHECKING:
    import uvicorn


def page_address(host: str, port: int) -> str:
    """The URL for a browser on this machine of a server that listens on `host`.

    Example:
        ("0.0.0.0", 8000) -> "http://127.0.0.1:8000"; ("::1", 80) -> "http://[::1]:80"
    """
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def open_browser(address: str) -> None:
    """Open a browser if this process has a terminal and a display."""
    if sys.stderr.isatty() and has_display(sys.platform, os.environ):
        # In a thread: some browsers block the caller until they are closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def has_display(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether a browser window can open; over SSH a text browser would take over the terminal."""
    if platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in environment
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


_GRACE_S = 10
"""Seconds for running requests to finish on shutdown; streams end by themselves."""

Host = Annotated[
    str | None, typer.Option(help="Address to listen on; a non-loopback address requires an access token.")
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option(help="Format of the log on standard error. Default: text.")
]
NoWorker = Annotated[
    bool, typer.Option("--no-worker", help="Serve only; runs need a separate `tunix-rt worker`.")
]

NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Do not open the web app in a browser.")]


def up(
    host: Host = None,
    port: Port = None,
    log_format: LogFormat = None,
    no_worker: NoWorker = False,
    no_browser: NoBrowser = False,
) -> None:
    """Start the server, a worker and the web app, and open a browser. The API docs are at /docs."""
    settings = load_settings()
    changes = {"host": host, "port": port, "log_format": log_format}
    settings = settings.model_copy(update={key: value for key, value in changes.items() if value is not None})
    _require_token_beyond_loopback(settings)
    _require_free_port(settings)
    if settings.web_dir is None:
        build_web_app(Path(__file__).parents[3])
    configure_logs(settings)
    signal.signal(signal.SIGTERM, _end)
    note(f"Tunix RT on http://{settings.host}:{settings.port}   API: /docs   home: {settings.home_dir}")
    with nullcontext() if no_worker else background_worker(settings):
        _server(settings, on_start=None if no_browser else open_browser).run()


def _server(settings: Settings, *, on_start: Callable[[str], None] | None) -> "uvicorn.Server":
    # Imported here because `tunix-rt worker` does not need it.
    import uvicorn
    from uvicorn.importer import import_from_string

    # By name: the command line and the API do not import each other.
    application = import_from_string("tunix_rt.api.app:app_to_serve")(settings, settings.host)

    class Server(uvicorn.Server):
        """Opens the browser once it is up; on exit, signals the application so that streams end."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            # Imported objects live until exit, and scanning them blocks requests for tens of milliseconds.
            gc.collect()
            gc.freeze()
            if on_start is not None and not self.should_exit:
                on_start(page_address(settings.host, settings.port))

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            application.state.stopping.set()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        http="tunix_rt.api.limits:BoundedHttp",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return Server(config)


def _end(_signal_number: int, _frame: Any) -> None:
    # Called after the server has finished its requests: a requested stop is not a failure.
    raise SystemExit(0)


def _require_token_beyond_loopback(settings: Settings) -> None:
    with closing(open_home(settings)) as home:
        tokens = TokenRepository(home.database)
        is_safe = is_loopback(settings.host) or tokens.num_valid(datetime.now(UTC)) > 0
    if not is_safe:
        raise InvalidInputError(
            f"{settings.host!r} is not a loopback address, and without access tokens anyone who can reach it "
            "controls the data.",
            next_step="Create a token first: tunix-rt tokens create NAME --scope admin; "
            "or use --host 127.0.0.1 and, from elsewhere, an SSH tunnel.",
        )


def _require_free_port(settings: Settings) -> None:
    host, port = settings.host, settings.port
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in addresses:
            socket.create_server(address, family=family).close()
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        raise InvalidInputError(
            f"The server cannot listen on {host}, port {port}: {error.strerror}.",
            next_step=f"Stop the program that uses the port, or choose another one: --port {port + 1}"
            if is_taken
            else "Choose an address of this machine with --host, and a port above 1023 with --port.",
        ) from error


def build_web_app(checkout: Path) -> None:
    """Build the web app on first use in a source tree; wheels include it."""
    is_built = (checkout / "backend" / "tunix_rt" / "web" / "index.html").is_file()
    if is_built or not (checkout / "frontend" / "package.json").is_file():
        return
    note("Building the web app, once; this takes about a minute.")
    try:
        built = subprocess.run(["make", "web"], cwd=checkout, capture_output=True, text=True, check=False)
        messages = [
            line for line in built.stderr.splitlines() if line.strip() and not line.startswith("make")
        ]
        problem = "" if built.returncode == 0 else (messages or ["make web failed"])[-1]
    except OSError as error:
        problem = str(error)
    if problem:
        note(f"The web app was not built ({problem}). The API works without it; to try again: make web")


Slots = Annotated[
    list[str] | None,
    typer.Option(
        "--slot",
        metavar="DEVICE",
        help="Slot for one run at a time: auto (default), cpu, gpu, tpu, or one GPU as gpu:0; repeatable.",
    ),
]
ExecutorOption = Annotated[
    ExecutorName, typer.Option(help="Where runs execute: this machine, or the Ray cluster of --ray-address.")
]
RayAddress = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Ray cluster address. Default: TUNIX_RT_RAY_ADDRESS."),
]
# For a parent process that holds the other end of the worker's standard input.
Lifeline = Annotated[bool, typer.Option("--lifeline", hidden=True)]


def worker(
    slots: Slots = None,
    executor: ExecutorOption = "local",
    ray_address: RayAddress = None,
    lifeline: Lifeline = False,
) -> None:
    """Run queued runs until stopped. Ctrl-C saves and requeues them; a second Ctrl-C kills them."""
    settings = load_settings()
    if ray_address is not None:
        settings = settings.model_copy(update={"ray_address": ray_address})
    configure_logs(settings)
    chosen = [parse_slot(text) for text in slots or ["auto"]]
    # By name: the command line and the worker do not import each other.
    exit_code = import_module("tunix_rt.runs.worker.loop").run_worker(
        settings,
        chosen,
        executor_name=executor,
        is_on_lifeline=lifeline,
        chores={"moving sweeps on": advance_all},
    )
    raise typer.Exit(exit_code)
