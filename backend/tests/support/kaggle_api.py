"""A local stand-in of Kaggle's API: the real client talks to it over real HTTP. It is not Kaggle.

The client has no option for its address. In its mode for developers it asks http://localhost, and a proxy
from the environment takes every request: that proxy is this server.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USER, KEY = "me", "not-a-real-key"


@dataclass
class KaggleStandIn:
    """What the API would answer, and what it was asked."""

    port: int = 0
    statuses: list[str] = field(default_factory=lambda: ["COMPLETE"])
    """One an asking; the last one stays."""
    known: tuple[str, ...] = ("my-training",)
    """Slugs of notebooks; others are answered with 404."""
    files: dict[str, str] = field(default_factory=dict)
    log: str = ""
    push_error: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def environ(self, home: Path, *, is_logged_in: bool = True) -> dict[str, str]:
        """What a child must see to talk to the stand-in."""
        proxy = f"http://127.0.0.1:{self.port}"
        named = {
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "KAGGLE_CONFIG_DIR": str(home / "kaggle"),
            "HOME": str(home),
            "HTTP_PROXY": proxy,
            "http_proxy": proxy,
            "NO_PROXY": "",
            "no_proxy": "",
        }
        return named | ({"KAGGLE_USERNAME": USER, "KAGGLE_KEY": KEY} if is_logged_in else {})

    def answer(self, verb: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        self.requests.append((verb, asked))
        if verb == "SaveKernel":
            url = f"https://www.kaggle.com/code/{asked['slug']}"
            return 200, {"ref": asked["slug"], "url": url, "versionNumber": 1, "error": self.push_error}
        if asked.get("kernelSlug") not in self.known:
            return 404, {"code": 404, "message": "Not found"}
        if verb == "GetKernelSessionStatus":
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            return 200, {"status": status, "failureMessage": ""}
        files = [{"fileName": name, "url": f"http://localhost/files/{name}"} for name in self.files]
        return 200, {"files": files, "log": self.log, "nextPageToken": ""}


@contextmanager
def kaggle_stand_in() -> Iterator[KaggleStandIn]:
    """A stand-in that lives as long as the context."""
    stand_in = KaggleStandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = stand_in.answer(self.path.rpartition("/")[2], asked)
            self._send(status, json.dumps(body).encode(), "application/json")

        def do_GET(self) -> None:
            self._send(200, stand_in.files[self.path.partition("/files/")[2]].encode(), "text/plain")

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Mon, 06 Jan 2025 10:00:00 GMT")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand_in.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
