"""When `tunix-rt up` opens a browser, and at which address."""

import pytest

from tunix_rt.cli.server import has_display, page_address


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
