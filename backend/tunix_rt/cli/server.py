"""`tunix-rt up`: the server."""

import gc
import signal
import socket
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import open_home
from tunix_rt.base.logs import configure_logs
from tunix_rt.base.settings import Settings, load_settings
from tunix_rt.base.terminal.output import note
from tunix_rt.cli.browser import open_browser, page_address
from tunix_rt.runs.worker.companion import worker_beside
from tunix_rt.system.access import has_valid_token
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import is_loopback

if TYPE_CHECKING:
    import uvicorn

_GRACE_S = 10
"""How long answers that have begun may take to end; streams end by themselves."""
# By name: the command line and the API do not import each other.
_APPLICATION = "tunix_rt.api.app:app_to_serve"
_PROTOCOL = "tunix_rt.api.limits:BoundedHttp"

Host = Annotated[
    str | None, typer.Option(help="Address to listen on; one that others can reach needs an access token.")
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")]
LogFormat = Annotated[
    Literal["text", "json"] | None, typer.Option(help="Of the log on standard error. Default: text.")
]
NoWorker = Annotated[
    bool, typer.Option("--no-worker", help="Only serve: runs wait for a `tunix-rt worker` elsewhere.")
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
    configure_logs(settings)
    signal.signal(signal.SIGTERM, _end)
    note(f"Tunix RT on http://{settings.host}:{settings.port}   API: /docs   home: {settings.home_dir}")
    with nullcontext() if no_worker else worker_beside(settings):
        _server(settings, on_start=None if no_browser else open_browser).run()


def _server(settings: Settings, *, on_start: Callable[[str], None] | None) -> "uvicorn.Server":
    # Imported here: every other command would wait for the web framework too.
    import uvicorn
    from uvicorn.importer import import_from_string

    application = import_from_string(_APPLICATION)(settings, settings.host)

    class Server(uvicorn.Server):
        """Opens the page when it answers; tells the application that it stops, so that streams end."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            _leave_out_of_collections()
            if on_start is not None and not self.should_exit:
                on_start(page_address(settings.host, settings.port))

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            application.state.stopping.set()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        http=_PROTOCOL,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return Server(config)


def _leave_out_of_collections() -> None:
    """Let the garbage collector look no more at what was imported.

    It is there until the end, and to look through all of it takes tens of milliseconds, in which nobody is
    answered.
    """
    gc.collect()
    gc.freeze()


def _end(_signal_number: int, _frame: Any) -> None:
    # The server has finished its answers when this is called: being told to stop is no failure.
    raise SystemExit(0)


def _require_token_beyond_loopback(settings: Settings) -> None:
    home = open_home(settings)
    try:
        is_safe = is_loopback(settings.host) or has_valid_token(TokenRepository(home.database))
    finally:
        home.close()
    if not is_safe:
        raise InvalidInputError(
            f"{settings.host!r} is not a loopback address, and without access tokens anyone who reaches it "
            "owns the data.",
            next_step="Make a token first: tunix-rt tokens create NAME --scope admin; "
            "or use --host 127.0.0.1 and, from elsewhere, an SSH tunnel.",
        )
