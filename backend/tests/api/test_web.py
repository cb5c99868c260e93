"""The web app as the server hands it out: pages, files, what is kept how long, and signing in."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from support.apps import make_app
from support.http import error_of

from tunix_rt.api.access import TOKEN_COOKIE, Access
from tunix_rt.api.web import WebApp
from tunix_rt.base.home import Home
from tunix_rt.system.access import create_token
from tunix_rt.system.store import TokenRepository

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def built(tmp_path: Path) -> TestClient:
    """An app with one route and a built web app of three files."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Tunix RT</title>" + " " * 2_000)
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-1a2b3c.js").write_text("start()")
    return serving(tmp_path)


def serving(directory: Path) -> TestClient:
    app = FastAPI()
    app.add_api_route("/api/known", lambda: "known")
    app.router.default = WebApp(otherwise=app.router.default, directory=directory)
    return TestClient(app)


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/smoke-1", "/datasets/v1.5-v2"])
def test_every_address_of_the_app_is_answered_with_its_page(built: TestClient, path: str) -> None:
    page = built.get(path, headers=BROWSER)
    assert page.status_code == 200
    assert "Tunix RT" in page.text
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    "path",
    ["/api/unknown", "/api", "/v1/unknown", "/metrics", "/assets/gone-9f9f.js", "/docs/unknown", "/assets"],
)
def test_the_page_never_replaces_a_route_or_file(built: TestClient, path: str) -> None:
    assert built.get(path, headers=BROWSER).status_code == 404


def test_a_mistyped_route_gets_an_error_not_the_page(built: TestClient) -> None:
    assert built.get("/apis/known").status_code == 404
    assert built.post("/runs", headers=BROWSER).status_code == 404
    assert built.post("/api/known").status_code == 405


def test_hashed_assets_are_cached_forever(built: TestClient) -> None:
    file = built.get("/assets/index-1a2b3c.js")
    assert file.text == "start()"
    assert "immutable" in file.headers["cache-control"]


def test_a_page_that_has_not_changed_is_not_sent_again(built: TestClient) -> None:
    tag = built.get("/favicon.svg").headers["etag"]
    assert built.get("/favicon.svg", headers={"if-none-match": tag}).status_code == 304


@pytest.mark.parametrize("path", ["/../secret.txt", "/assets/%2e%2e/%2e%2e/secret.txt", "/..%2fsecret.txt"])
def test_no_path_leads_out_of_the_app(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "index.html").write_text("page")
    assert "secret" not in serving(tmp_path / "web").get(path, headers=BROWSER).text


def test_the_page_may_run_no_script_but_its_own(built: TestClient) -> None:
    policy = built.get("/", headers=BROWSER).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_an_unbuilt_app_says_how_to_build_it(tmp_path: Path) -> None:
    page = serving(tmp_path / "nothing").get("/runs", headers=BROWSER)
    assert page.status_code == 503
    assert "make web" in page.text


def test_another_build_of_the_app_can_be_served(store: Home, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("another build")
    other = replace(store, settings=store.settings.model_copy(update={"web_dir": tmp_path}))
    assert TestClient(make_app(other)).get("/").text == "another build"


def guarded(store: Home) -> TestClient:
    return TestClient(make_app(store, Access()), base_url="https://localhost")


def test_the_app_needs_no_token_but_its_data_does(store: Home) -> None:
    http = guarded(store)
    assert http.get("/", headers=BROWSER).status_code in (200, 503)
    error_of(http.get("/api/session"), 401)


def test_a_browser_signs_in_once_and_its_links_carry_the_token(store: Home) -> None:
    http, (_, token) = guarded(store), create_token(TokenRepository(store.database), "laptop", "read")
    signed_in = http.post("/api/session", headers={"authorization": f"Bearer {token}"})
    assert signed_in.json() == {"scope": "read", "token_name": "laptop"}
    cookie = signed_in.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure"))
    assert http.get("/api/traces").status_code == 200
    error_of(http.delete("/api/tunix/runs/a"), 403)
    assert http.delete("/api/session").status_code == 204
    error_of(http.get("/api/traces"), 401)


def test_a_wrong_token_signs_nobody_in(store: Home) -> None:
    refused = guarded(store).post("/api/session", headers={"authorization": "Bearer trt_00000000_guessed"})
    error_of(refused, 401)
    assert "set-cookie" not in refused.headers


def test_a_cookie_that_has_ended_does_not_hide_the_page(store: Home) -> None:
    made, token = create_token(TokenRepository(store.database), "laptop", "read")
    TokenRepository(store.database).revoke(made.token_id, datetime.now(UTC))
    http = guarded(store)
    http.cookies.set(TOKEN_COOKIE, token)
    assert http.get("/", headers=BROWSER).status_code in (200, 503)
    error_of(http.get("/api/traces"), 401)


def test_loopback_does_not_store_unknown_keys(store: Home) -> None:
    http = TestClient(make_app(store, Access(requires_token=False)), base_url="http://127.0.0.1:8000")
    passed = http.post("/api/session", headers={"authorization": "Bearer sk-anything"})
    assert passed.json() == {"scope": "admin"}
    assert "set-cookie" not in passed.headers


def test_on_loopback_a_cookie_of_another_server_is_passed_over(store: Home) -> None:
    http = TestClient(make_app(store, Access(requires_token=False)), base_url="http://127.0.0.1:8000")
    http.cookies.set(TOKEN_COOKIE, "trt_00000000_other")
    assert http.get("/api/session").json() == {"scope": "admin"}
