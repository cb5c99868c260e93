"""The web app as served by the API: pages, assets, caching and sign-in."""

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
def web_client(tmp_path: Path) -> TestClient:
    """An app with one route and a web build of three files."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>Tunix RT</title>" + " " * 2_000)
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-1a2b3c.js").write_text("start()")
    return serve(tmp_path)


def serve(directory: Path) -> TestClient:
    app = FastAPI()
    app.add_api_route("/api/known", lambda: "known")
    app.router.default = WebApp(otherwise=app.router.default, directory=directory)
    return TestClient(app)


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/smoke-1", "/datasets/v1.5-v2"])
def test_app_paths_serve_the_page(web_client: TestClient, path: str) -> None:
    page = web_client.get(path, headers=BROWSER)
    assert page.status_code == 200
    assert "Tunix RT" in page.text
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    "path",
    ["/api/unknown", "/api", "/v1/unknown", "/metrics", "/assets/gone-9f9f.js", "/docs/unknown", "/assets"],
)
def test_unknown_routes_and_assets_answer_404(web_client: TestClient, path: str) -> None:
    assert web_client.get(path, headers=BROWSER).status_code == 404


def test_api_requests_never_get_the_page(web_client: TestClient) -> None:
    assert web_client.get("/apis/known").status_code == 404
    assert web_client.post("/runs", headers=BROWSER).status_code == 404
    assert web_client.post("/api/known").status_code == 405


def test_hashed_assets_are_cached_forever(web_client: TestClient) -> None:
    file = web_client.get("/assets/index-1a2b3c.js")
    assert file.text == "start()"
    assert "immutable" in file.headers["cache-control"]


def test_unchanged_file_answers_304(web_client: TestClient) -> None:
    tag = web_client.get("/favicon.svg").headers["etag"]
    assert web_client.get("/favicon.svg", headers={"if-none-match": tag}).status_code == 304


@pytest.mark.parametrize("path", ["/../secret.txt", "/assets/%2e%2e/%2e%2e/secret.txt", "/..%2fsecret.txt"])
def test_path_traversal_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "index.html").write_text("page")
    assert "secret" not in serve(tmp_path / "web").get(path, headers=BROWSER).text


def test_csp_allows_only_own_scripts(web_client: TestClient) -> None:
    policy = web_client.get("/", headers=BROWSER).headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_unbuilt_app_explains_how_to_build(tmp_path: Path) -> None:
    page = serve(tmp_path / "nothing").get("/runs", headers=BROWSER)
    assert page.status_code == 503
    assert "make web" in page.text


def test_web_dir_setting_selects_the_build(store: Home, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("another build")
    other = replace(store, settings=store.settings.model_copy(update={"web_dir": tmp_path}))
    assert TestClient(make_app(other)).get("/").text == "another build"


def guarded_client(store: Home) -> TestClient:
    return TestClient(make_app(store, Access()), base_url="https://localhost")


def test_page_is_public_but_data_is_not(store: Home) -> None:
    http = guarded_client(store)
    assert http.get("/", headers=BROWSER).status_code in (200, 503)
    error_of(http.get("/api/session"), 401)


def test_session_cookie_authenticates_the_browser(store: Home) -> None:
    http, (_, token) = guarded_client(store), create_token(TokenRepository(store.database), "laptop", "read")
    signed_in = http.post("/api/session", headers={"authorization": f"Bearer {token}"})
    assert signed_in.json() == {"scope": "read", "token_name": "laptop"}
    cookie = signed_in.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "secure"))
    assert http.get("/api/traces").status_code == 200
    error_of(http.delete("/api/tunix/runs/a"), 403)
    assert http.delete("/api/session").status_code == 204
    error_of(http.get("/api/traces"), 401)


def test_invalid_token_gets_no_session(store: Home) -> None:
    refused = guarded_client(store).post(
        "/api/session", headers={"authorization": "Bearer trt_00000000_guessed"}
    )
    error_of(refused, 401)
    assert "set-cookie" not in refused.headers


def test_page_ignores_revoked_cookie(store: Home) -> None:
    created, token = create_token(TokenRepository(store.database), "laptop", "read")
    TokenRepository(store.database).revoke(created.token_id, datetime.now(UTC))
    http = guarded_client(store)
    http.cookies.set(TOKEN_COOKIE, token)
    assert http.get("/", headers=BROWSER).status_code in (200, 503)
    error_of(http.get("/api/traces"), 401)


def test_loopback_does_not_store_unknown_keys(store: Home) -> None:
    http = TestClient(make_app(store, Access(requires_token=False)), base_url="http://127.0.0.1:8000")
    response = http.post("/api/session", headers={"authorization": "Bearer sk-anything"})
    assert response.json() == {"scope": "admin"}
    assert "set-cookie" not in response.headers


def test_loopback_ignores_foreign_cookies(store: Home) -> None:
    http = TestClient(make_app(store, Access(requires_token=False)), base_url="http://127.0.0.1:8000")
    http.cookies.set(TOKEN_COOKIE, "trt_00000000_other")
    assert http.get("/api/session").json() == {"scope": "admin"}
