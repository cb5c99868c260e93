"""`tunix-rt up`: the server."""

import ipaddress
from typing import Annotated

import typer

from tunix_rt.cli.output import note
from tunix_rt.config.settings import load_settings
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.services.store import open_store


def up(
    host: Annotated[str | None, typer.Option(help="Loopback address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")] = None,
) -> None:
    """Start the server; its address is printed, its API described at /docs."""
    # Imported here: every other command would wait for the web framework too.
    import uvicorn

    settings = load_settings()
    chosen_host, chosen_port = host or settings.host, port or settings.port
    require_loopback(chosen_host)
    open_store(settings).close()
    note(f"Tunix RT on http://{chosen_host}:{chosen_port}   API: /docs   home: {settings.home_dir}")
    # By name: the command line and the API do not import each other.
    application = "tunix_rt.api.app:app_from_environment"
    uvicorn.run(application, factory=True, host=chosen_host, port=chosen_port, log_level="warning")


def require_loopback(host: str) -> None:
    """Refuse an address that others can reach: there is no access control to protect the data."""
    if host == "localhost":
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass
    raise InvalidInputError(
        f"{host!r} is not a loopback address, and without access tokens anyone who reaches it owns the data.",
        next_step="Use --host 127.0.0.1 and, from elsewhere, an SSH tunnel: ssh -L 8000:127.0.0.1:8000 HOST",
    )
