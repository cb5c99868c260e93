"""What `tunix-rt up` does before it serves: the port, the web app, the browser."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tunix_rt.cli.server import build_web_app, has_display, page_address


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("box.example", "http://box.example:8000"),
    ],
)
def test_page_address_is_reachable_locally(host: str, address: str) -> None:
    assert page_address(host, 8000) == address


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {}, False),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"}, False),
    ],
)
def test_browser_needs_a_display(platform: str, environment: dict[str, str], expected: bool) -> None:
    assert has_display(platform, environment) is expected


def test_taken_port_is_usage_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "tunix_rt.cli", "up", "--no-worker", "--port", str(port)]
        done = subprocess.run(
            command, env={"TUNIX_RT_HOME": str(tmp_path)}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert f"port {port}: Address already in use" in done.stderr
    assert f"--port {port + 1}" in done.stderr


def test_source_tree_builds_web_app(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "frontend").mkdir()
    (tmp_path / "frontend" / "package.json").write_text("{}")
    web = tmp_path / "backend" / "tunix_rt" / "web"
    (tmp_path / "Makefile").write_text(f"web:\n\tmkdir -p {web} && echo built > {web}/index.html\n")
    build_web_app(tmp_path)
    build_web_app(tmp_path)
    assert (web / "index.html").read_text() == "built\n"
    assert capfd.readouterr().err.count("Building the web app") == 1


def test_failed_build_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "frontend").mkdir()
    (tmp_path / "frontend" / "package.json").write_text("{}")
    (tmp_path / "Makefile").write_text("web:\n\t@echo no registry >&2; exit 1\n")
    build_web_app(tmp_path)
    error = capfd.readouterr().err
    assert "was not built" in error
    assert "make web" in error


def test_wheel_needs_no_build(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build_web_app(tmp_path)
    assert capfd.readouterr().err == ""
