"""A local fake of Kaggle's API that the real client talks to over HTTP.

The client has no option for the address of the API. In its developer mode it calls http://localhost through
the proxy of the environment, and this server acts as that proxy.
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
    """The answers and the recorded requests of the fake API."""

    port: int = 0
    statuses: list[str] = field(default_factory=lambda: ["COMPLETE"])
    """One per request; the last one repeats."""
    known: tuple[str, ...] = ("my-training",)
    """Slugs of known notebooks. Others get a 404."""
    files: dict[str, str] = field(default_factory=dict)
    log: str = ""
    push_error: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def environ(self, home: Path, *, is_logged_in: bool = True) -> dict[str, str]:
        """Return the environment in which a child process talks to the fake API."""
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

    def answer(self, verb: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and body."""
        self.requests.append((verb, request))
        if verb == "SaveKernel":
            url = f"https://www.kaggle.com/code/{request['slug']}"
            return 200, {"ref": request["slug"], "url": url, "versionNumber": 1, "error": self.push_error}
        if request.get("kernelSlug") not in self.known:
            return 404, {"code": 404, "message": "Not found"}
        if verb == "GetKernelSessionStatus":
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            return 200, {"status": status, "failureMessage": ""}
        files = [{"fileName": name, "url": f"http://localhost/files/{name}"} for name in self.files]
        return 200, {"files": files, "log": self.log, "nextPageToken": ""}


@contextmanager
def kaggle_stand_in() -> Iterator[KaggleStandIn]:
    """Run the fake API until the context ends."""
    stand_in = KaggleStandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = stand_in.answer(self.path.rpartition("/")[2], request)
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
            """Keep the test output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand_in.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
