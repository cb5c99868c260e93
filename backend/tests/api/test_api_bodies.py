"""Oversized, malformed and truncated request bodies against a real server over sockets."""

import json
import socket
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import httpx2 as httpx
import pytest
from support.children import LiveServer, live_server
from support.http import body, error_of

from tunix_rt.api.limits import LINGER_BYTES
from tunix_rt.base.settings import Settings

JSON = {"content-type": "application/json"}
MIB = 1024 * 1024
UPLOAD_LIMIT = 4 * MIB
OVERSIZED = 50 * MIB
ENDLESS_BYTES = LINGER_BYTES + 64 * MIB
MEMORY_GROWTH_MIB = 32
"""The memory that one refused request may cost; the bodies are larger."""


@pytest.fixture(scope="module")
def temporary_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory for the server's temporary files."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, temporary_dir: Path) -> Iterator[LiveServer]:
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    limits = {"TUNIX_RT_UPLOAD_MAX_BYTES": str(UPLOAD_LIMIT), "TMPDIR": str(temporary_dir)}
    with live_server(settings, **limits) as started:
        yield started


@pytest.fixture
def http(server: LiveServer) -> Iterator[httpx.Client]:
    """A client. After the test, the server must still work and must not have grown."""
    memory_before = server.peak_memory_mib()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        assert client.get("/api/health").status_code == 200
        yield client
    assert httpx.get(f"{server.url}/api/health").json()["status"] == "healthy"
    assert httpx.get(f"{server.url}/api/traces").json()["pagination"]["total"] == 0
    assert server.peak_memory_mib() - memory_before < MEMORY_GROWTH_MIB


def read_response(connection: socket.socket) -> tuple[int, dict[str, str]]:
    """Read the status and JSON body of one response from a raw socket."""
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    head, _, content = received.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), json.loads(content)


def request_head(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def send_until_cut_off(connection: socket.socket, pieces: Iterable[bytes]) -> int:
    """Return how many bytes the server accepted before it closed the connection."""
    num_sent = 0
    try:
        for piece in pieces:
            connection.sendall(piece)
            num_sent += len(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return num_sent


def chunked(size: int, num_chunks: int) -> Iterator[bytes]:
    for _ in range(num_chunks):
        yield f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"


def test_oversized_content_length_answers_413(server: LiveServer, http: httpx.Client) -> None:
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces", f"Content-Length: {OVERSIZED}"))
        connection.shutdown(socket.SHUT_WR)
        status, error = read_response(connection)
    assert (status, error["code"]) == (413, "too-large")
    assert str(MIB) in error["detail"]


@pytest.mark.parametrize("length", ["9" * 30, "99999999999999999999999"])
def test_absurd_content_length_is_refused(server: LiveServer, http: httpx.Client, length: str) -> None:
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces", f"Content-Length: {length}"))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536).split(b" ", 2)[1] in (b"400", b"413")


def test_endless_chunked_body_is_cut_off(server: LiveServer, http: httpx.Client) -> None:
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces", "Transfer-Encoding: chunked"))
        num_sent = send_until_cut_off(connection, chunked(65536, ENDLESS_BYTES // 65536))
    assert num_sent < ENDLESS_BYTES


def test_oversized_chunked_body_answers_413(server: LiveServer, http: httpx.Client) -> None:
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces", "Transfer-Encoding: chunked"))
        send_until_cut_off(connection, [*chunked(65536, 2 * MIB // 65536), b"0\r\n\r\n"])
        status, error = read_response(connection)
    assert (status, error["code"]) == (413, "too-large")


def test_understated_content_length_answers_400(server: LiveServer, http: httpx.Client) -> None:
    trace = json.dumps(body()).encode()
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces/lint", f"Content-Length: {len(trace) - 10}") + trace)
        assert connection.recv(65536).split(b" ", 2)[1] == b"400"


def test_server_survives_a_truncated_body(server: LiveServer, http: httpx.Client) -> None:
    with server.connect() as connection:
        connection.sendall(request_head("/api/traces", "Content-Length: 1000") + b'{"prompt":')


def test_endless_headers_answer_400(server: LiveServer, http: httpx.Client) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /api/health HTTP/1.1\r\nX-Pad: " + b"x" * 100_000)
        assert connection.recv(65536).split(b" ", 2)[1] == b"400"


@pytest.mark.parametrize("beginning", ["5;pad=", "5\r\nhello\r\n0\r\nX-Pad: "], ids=["frame", "trailer"])
def test_endless_chunk_metadata_is_cut_off(server: LiveServer, http: httpx.Client, beginning: str) -> None:
    with server.connect() as connection:
        head = request_head("/api/traces", "Transfer-Encoding: chunked")
        padding = (b"x" * 65536 for _ in range(64 * MIB // 65536))
        assert send_until_cut_off(connection, chain([head + beginning.encode()], padding)) < 64 * MIB


@pytest.mark.parametrize("path", ["/api/traces", "/api/traces/lint", "/api/datasets/build", "/api/nothing"])
def test_huge_prompt_answers_413(http: httpx.Client, path: str) -> None:
    response = http.post(path, json=body() | {"prompt": "x" * OVERSIZED})
    assert error_of(response, 413)["code"] == "too-large"


def test_oversized_upload_leaves_no_file(http: httpx.Client, temporary_dir: Path) -> None:
    def form() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        for _ in range(UPLOAD_LIMIT // 65536 + 1):
            yield b"x" * 65536

    headers = {"content-type": "multipart/form-data; boundary=x"}
    response = http.post("/api/datasets/ingest", content=form(), headers=headers)
    assert error_of(response, 413)["code"] == "too-large"
    assert list(temporary_dir.iterdir()) == []


def test_many_unknown_keys_answer_422(http: httpx.Client) -> None:
    unknown = {f"k{n}": 0 for n in range(80_000)}
    error_of(http.post("/api/traces", json=body() | unknown), 422)


def test_too_many_steps_are_refused(http: httpx.Client) -> None:
    steps = ",".join(f'{{"i":{i},"content":"a"}}' for i in range(1_000_000))
    text = json.dumps(body() | {"steps": []}).replace('"steps": []', f'"steps": [{steps}]')
    error_of(http.post("/api/traces", content=text, headers=JSON), 413)
    few_bytes = text[: text.index('"steps": [') + 10] + "0," * 300_000 + "0]}"
    error = error_of(http.post("/api/traces", content=few_bytes, headers=JSON), 422)
    assert "steps.0" in error["detail"]
