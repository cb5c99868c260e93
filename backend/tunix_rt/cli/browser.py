"""Opening the web app in the browser of whoever typed the command, where there is one."""

import os
import sys
import threading
import webbrowser
from collections.abc import Mapping

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses to listen on that are none to go to, and what to go to in their place."""


def page_address(host: str, port: int) -> str:
    """Where a browser on this machine finds a server that listens on `host`.

    Example:
        ("0.0.0.0", 8000) -> "http://127.0.0.1:8000"; ("::1", 80) -> "http://[::1]:80"
    """
    name = _EVERYWHERE.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def open_browser(address: str) -> None:
    """Open a browser, unless nobody sits before this process."""
    if sys.stderr.isatty() and has_screen(sys.platform, os.environ):
        # Some browsers keep the caller waiting until they are closed.
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def has_screen(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether a browser has somewhere to appear: over SSH, one for text would take over the terminal."""
    if platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in environment
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
