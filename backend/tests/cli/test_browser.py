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
def test_the_page_is_opened_where_this_machine_finds_it(host: str, address: str) -> None:
    assert page_address(host, 8000) == address


@pytest.mark.parametrize(
    ("platform", "environment", "has_one"),
    [
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {}, False),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22"}, False),
    ],
)
def test_a_browser_is_opened_only_where_there_is_a_screen(
    platform: str, environment: dict[str, str], has_one: bool
) -> None:
    assert has_display(platform, environment) is has_one
