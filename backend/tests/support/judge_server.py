"""A fake OpenAI-compatible HTTP server. Each request is answered by the next act of its script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["_Handler", dict[str, Any]], None]


class JudgeServer:
    """The recorded requests and the script. Without a script, every request gets good grades."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.script: list[Act] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.is_over = threading.Event()
        self._lock = threading.Lock()

    def next_act(self, body: dict[str, Any], key: str | None) -> Act:
        with self._lock:
            self.bodies.append(body)
            self.keys.append(key)
            return self.script.pop(0) if self.script else grades()


class _Handler(BaseHTTPRequestHandler):
    judge: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.judge.next_act(body, self.headers["Authorization"])(self, body)

    def send(self, status: int, raw: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def judge_server() -> Iterator[JudgeServer]:
    """Run a server on a free port until the context ends."""

    class Handler(_Handler):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.judge = JudgeServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Handler.judge
    finally:
        Handler.judge.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def criteria_asked(body: dict[str, Any]) -> list[str]:
    """Return the criteria that the system message asks for."""
    last_line: str = body["messages"][0]["content"].splitlines()[-1]
    return [name.strip('"') for name in last_line.split(", ")]


def grades(score: int = 4, reason: str = "It holds.") -> Act:
    """Grade every criterion with this score."""

    def act(handler: _Handler, body: dict[str, Any]) -> None:
        reply = {name: {"reason": reason, "score": score} for name in criteria_asked(body)}
        reply_with(json.dumps(reply))(handler, body)

    return act


def reply_with(text: str, *, usage: dict[str, int] | None = None) -> Act:
    """Return a chat completion with this content; by default with 100 prompt and 20 completion tokens."""
    counted = {"prompt_tokens": 100, "completion_tokens": 20} if usage is None else usage
    completion = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": counted or None}
    return answers(200, json.dumps(completion))


def answers(status: int, text: str = "", **headers: str) -> Act:
    """Send a plain response."""
    return lambda handler, body: handler.send(status, text.encode(), **headers)


def hang(handler: _Handler, body: dict[str, Any]) -> None:
    """Accept the request and never answer."""
    handler.judge.is_over.wait()


def trickle(handler: _Handler, body: dict[str, Any]) -> None:
    """Send single bytes until the server stops."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.judge.is_over.wait(0.02):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return


def breaks(handler: _Handler, body: dict[str, Any]) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True
