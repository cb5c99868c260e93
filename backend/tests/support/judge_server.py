"""A real HTTP server that plays an OpenAI-compatible endpoint; a request takes the next act of its script."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["_Handler", dict[str, Any]], None]


class JudgeServer:
    """What was asked, and what is answered next; without a script every request is graded well."""

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
    """A server on a port of its own, for as long as the context."""

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
    """The keys that the system message asks for."""
    last_line: str = body["messages"][0]["content"].splitlines()[-1]
    return [name.strip('"') for name in last_line.split(", ")]


def grades(score: int = 4, reason: str = "It holds.") -> Act:
    """Every criterion gets this score."""

    def act(handler: _Handler, body: dict[str, Any]) -> None:
        reply = {name: {"reason": reason, "score": score} for name in criteria_asked(body)}
        says(json.dumps(reply))(handler, body)

    return act


def says(text: str, *, usage: dict[str, int] | None = None) -> Act:
    """A chat completion with this content; 100 tokens in and 20 out."""
    counted = {"prompt_tokens": 100, "completion_tokens": 20} if usage is None else usage
    completion = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": counted or None}
    return answers(200, json.dumps(completion))


def answers(status: int, text: str = "", **headers: str) -> Act:
    """A bare response."""
    return lambda handler, body: handler.send(status, text.encode(), **headers)


def hangs(handler: _Handler, body: dict[str, Any]) -> None:
    """Takes the request and says nothing until the server ends."""
    handler.judge.is_over.wait()


def trickles(handler: _Handler, body: dict[str, Any]) -> None:
    """Sends a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.judge.is_over.wait(0.02):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return


def breaks(handler: _Handler, body: dict[str, Any]) -> None:
    """Closes the connection without an answer."""
    handler.close_connection = True
