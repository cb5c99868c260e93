"""Disconnects and crashes over real connections, with a fake model process."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from support.apps import make_app
from support.model_starts import ChildStarts
from support.run_dirs import finished_run

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.serving.pool import ModelPool

CHAT = "/v1/chat/completions"
DEADLINE_S = 60


@pytest.fixture
def url(tmp_path: Path, sqlite_template: Path) -> Iterator[str]:
    """A server whose only model is the fake process `support.model_child`."""
    settings = Settings(home=tmp_path, database_url=f"sqlite:///{sqlite_template}")
    finished_run(settings.runs_dir / "a")
    app = make_app(open_home(settings))
    app.state.models = ModelPool(settings, ChildStarts())
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=DEADLINE_S)
    assert not thread.is_alive()


def body(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "a", "messages": [{"role": "user", "content": text}], **fields}


def ask(url: str, text: str) -> str:
    answer = httpx2.post(url + CHAT, json=body(text), timeout=DEADLINE_S)
    content: str = answer.json()["choices"][0]["message"]["content"]
    return content


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_closing_stream_cancels_generation(url: str) -> None:
    with httpx2.stream("POST", url + CHAT, json=body("wait", stream=True), timeout=DEADLINE_S) as response:
        lines = response.iter_lines()
        assert json.loads(next(lines).removeprefix("data: "))["object"] == "chat.completion.chunk"
        assert ask(url, "who waits?") == "well, 1"
    wait_until(lambda: ask(url, "who waits?") == "well, 0")


def test_disconnect_cancels_generation(url: str) -> None:
    content = json.dumps(body("wait")).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    address = ("127.0.0.1", int(url.rpartition(":")[2]))
    with socket.create_connection(address, timeout=DEADLINE_S) as connection:
        connection.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        wait_until(lambda: ask(url, "who waits?") == "well, 1")
    wait_until(lambda: ask(url, "who waits?") == "well, 0")


def test_crash_ends_stream_with_error(url: str) -> None:
    answer = httpx2.post(url + CHAT, json=body("die", stream=True), timeout=DEADLINE_S)
    *_, delta, error = [line.removeprefix("data: ") for line in answer.text.splitlines() if line]
    assert json.loads(delta)["choices"][0]["delta"] == {"content": "well, "}
    assert json.loads(error)["error"]["code"] == "serving"
    assert "the device is gone" in json.loads(error)["error"]["message"]
    assert ask(url, "echo") == "well, echo"
