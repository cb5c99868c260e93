"""Who is answered: tokens and scopes on every route, names and origins, and what wrong guesses cost."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.websockets import WebSocketDisconnect
from support.apps import make_app
from support.http import body, error_of

from tunix_rt.api.access import KNOWN_FOR_S, MAX_FAILURES, OPEN_PATHS, Access, access_to
from tunix_rt.api.app import ROUTERS
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.system.access import create_token
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import SCOPES, Scope, allows, needed_scope

BASE_URL = "http://127.0.0.1:8000"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def client_of(store: Home, access: Access) -> TestClient:
    return TestClient(make_app(store, access), base_url=BASE_URL)


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Home]:
    """A store that the tests of this file share: most of them change nothing."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    opened = open_home(Settings(home=home))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tokens(sqlite: Home) -> dict[Scope, str]:
    return {scope: create_token(TokenRepository(sqlite.database), scope, scope)[1] for scope in SCOPES}


@pytest.fixture(scope="module")
def guarded(sqlite: Home) -> TestClient:
    """An app that wants tokens, as beyond loopback."""
    return client_of(sqlite, access_to(sqlite.settings, "0.0.0.0"))


@pytest.fixture(scope="module")
def local(sqlite: Home) -> TestClient:
    """An app as `tunix-rt up` makes it without any option."""
    return client_of(sqlite, access_to(sqlite.settings, "127.0.0.1"))


def requests_of(app: FastAPI) -> list[tuple[str, str]]:
    """Every method and path that the app answers, documented or not."""
    routes = [*app.routes, *(route for router in ROUTERS for route in router.routes)]
    found = {request for route in routes for request in _requests(route)}
    described = {_filled(path) for path in app.openapi()["paths"]}
    assert described <= {path for _, path in found}
    return sorted(found)


def _requests(route: BaseRoute) -> Iterator[tuple[str, str]]:
    if isinstance(route, Mount):
        yield "GET", f"{route.path}/anything"
    elif isinstance(route, Route):
        yield from ((method, _filled(route.path)) for method in route.methods or {"GET"})


def _filled(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "1", path)


def test_every_route_wants_a_token(guarded: TestClient) -> None:
    app = guarded.app
    assert isinstance(app, FastAPI)
    known = requests_of(app)
    paths = {path for _, path in known}
    assert paths >= {"/docs", "/openapi.json", "/metrics", "/v1/chat/completions", "/api/tunix/runs"}
    assert len(known) > 100
    for method, path in known:
        if path in OPEN_PATHS:
            assert guarded.request(method, path).status_code == 200
            continue
        response = guarded.request(method, path, follow_redirects=False)
        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"].startswith("Bearer")
    error_of(guarded.get("/api/no/such/route"), 401)
    error_of(guarded.post("/no/such/route"), 401)


def test_no_route_takes_a_token_of_too_small_a_scope(guarded: TestClient, tokens: dict[Scope, str]) -> None:
    app = guarded.app
    assert isinstance(app, FastAPI)
    refused = set()
    for method, path in requests_of(app):
        needed = needed_scope(method, path)
        for scope in SCOPES:
            if path not in OPEN_PATHS and not allows(scope, needed):
                response = guarded.request(method, path, headers=bearer(tokens[scope]))
                assert error_of(response, 403)["next_step"].endswith(f"--scope {needed}"), (method, path)
                refused.add((scope, needed))
    assert refused == {("read", "write"), ("read", "admin"), ("write", "admin")}


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/api/traces", "read"),
        ("HEAD", "/api/tunix/runs/a/artifacts/b/download", "read"),
        ("POST", "/v1/chat/completions", "read"),
        ("POST", "/api/tunix/runs", "write"),
        ("PUT", "/api/models/1/aliases/champion", "write"),
        ("POST", "/api/tunix/queue/pause", "admin"),
        ("DELETE", "/api/tunix/runs/a", "admin"),
        ("DELETE", "/v1/anything", "admin"),
        ("POST", "/api/session", "read"),
        ("DELETE", "/api/session", "read"),
    ],
)
def test_a_request_needs_the_scope_of_what_it_does(method: str, path: str, needed: Scope) -> None:
    assert needed_scope(method, path) == needed


def test_a_token_opens_what_its_scope_covers(store: Home) -> None:
    http = client_of(store, Access())
    (_, reader), (_, writer) = (
        create_token(TokenRepository(store.database), "someone", scope) for scope in ("read", "write")
    )
    assert http.get("/api/traces", headers=bearer(reader)).status_code == 200
    error_of(http.post("/api/traces", json=body(), headers=bearer(reader)), 403)
    assert http.post("/api/traces", json=body(), headers=bearer(writer)).status_code == 201


@pytest.mark.parametrize("end", ["revoked", "expired", "unknown", "cut", "empty"])
def test_a_token_that_is_not_valid_opens_nothing(store: Home, end: str) -> None:
    lifetime = timedelta(days=-1) if end == "expired" else None
    made, token = create_token(TokenRepository(store.database), "someone", "admin", lifetime=lifetime)
    if end == "revoked":
        TokenRepository(store.database).revoke(made.token_id, datetime.now(UTC))
    shown = {"unknown": "trt_00000000_nothing", "cut": token[:-1], "empty": ""}.get(end, token)
    error_of(client_of(store, Access()).get("/api/traces", headers=bearer(shown)), 401)


def test_a_revoked_token_is_forgotten_within_seconds(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("tunix_rt.api.access.time.monotonic", lambda: now_s[0])
    http = client_of(store, Access())
    made, token = create_token(TokenRepository(store.database), "someone", "read")
    assert http.get("/api/traces", headers=bearer(token)).status_code == 200
    TokenRepository(store.database).revoke(made.token_id, datetime.now(UTC))
    now_s[0] += KNOWN_FOR_S
    error_of(http.get("/api/traces", headers=bearer(token)), 401)


def test_last_use_is_precise_to_a_minute(store: Home) -> None:
    made, token = create_token(TokenRepository(store.database), "someone", "read")
    client_of(store, Access()).get("/api/traces", headers=bearer(token))
    (used,) = TokenRepository(store.database).list()
    assert used.last_used_at is not None
    TokenRepository(store.database).note_use(used, used.last_used_at + timedelta(seconds=59))
    assert TokenRepository(store.database).list() == (used,)
    TokenRepository(store.database).note_use(used, used.last_used_at + timedelta(seconds=61))
    assert TokenRepository(store.database).list() != (used,)
    assert made.last_used_at is None


def test_only_the_hash_of_a_token_is_kept(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    _, token = create_token(TokenRepository(store.database), "someone", "admin")
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"someone" in kept
    assert token.encode() not in kept
    assert token.split("_", 2)[2].encode() not in kept


def test_on_loopback_no_token_is_needed(local: TestClient) -> None:
    assert local.get("/api/traces").status_code == 200
    assert local.post("/api/traces", json=body()).status_code == 201


def test_on_loopback_a_token_that_is_sent_must_be_right(local: TestClient, tokens: dict[Scope, str]) -> None:
    error_of(local.get("/api/traces", headers=bearer("trt_00000000_guessed")), 401)
    error_of(local.post("/api/traces", json=body(), headers=bearer(tokens["read"])), 403)
    assert local.get("/api/traces", headers=bearer(tokens["read"])).status_code == 200


def test_loopback_ignores_openai_client_keys(local: TestClient) -> None:
    assert local.get("/api/traces", headers=bearer("sk-anything")).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_proxied_loopback_requests_need_a_token(
    local: TestClient, tokens: dict[Scope, str], header: str
) -> None:
    passed_on = {header: "203.0.113.9"}
    error_of(local.get("/api/traces", headers=passed_on), 401)
    assert local.get("/api/traces", headers=passed_on | bearer(tokens["read"])).status_code == 200


def test_a_setting_asks_for_tokens_on_loopback_too(sqlite: Home) -> None:
    access = access_to(Settings(home=sqlite.settings.home, require_token=True), "127.0.0.1")
    error_of(client_of(sqlite, access).get("/api/traces"), 401)


def test_invalid_tokens_are_throttled_and_valid_ones_not(sqlite: Home, tokens: dict[Scope, str]) -> None:
    right, http = bearer(tokens["read"]), client_of(sqlite, Access())
    assert http.get("/api/traces", headers=right).status_code == 200

    def guess(number: int) -> Response:
        return http.get("/api/traces", headers=bearer(f"trt_00000000_{number}"))

    assert {guess(number).status_code for number in range(MAX_FAILURES)} == {401}
    refused = guess(MAX_FAILURES)
    assert error_of(refused, 429)["code"] == "too-many-failures"
    assert 0 < int(refused.headers["retry-after"]) <= 60
    # Known a moment ago: a neighbour with a broken script locks nobody out.
    assert http.get("/api/traces", headers=right).status_code == 200
    assert http.get("/api/traces").status_code == 401


def test_a_missing_database_is_not_reported_as_a_bad_token(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    store.close()
    (tmp_path / "tunix_rt.db").unlink()
    http = client_of(store, Access())
    assert error_of(http.get("/api/traces", headers=bearer("trt_x")), 503)["code"] == "storage"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.8.9.1:80", "[::1]:8000"])
def test_the_names_of_loopback_are_always_its_own(local: TestClient, host: str) -> None:
    assert local.get("/api/traces", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "192.0.2.7",
        "",
        "a@localhost",
        "[",
        "a:b",
    ],
)
def test_a_request_for_another_host_is_not_answered(local: TestClient, host: str) -> None:
    response = local.get("/api/traces", headers={"host": host})
    assert error_of(response, 421)["code"] == "wrong-host"


def test_further_names_are_a_setting(sqlite: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNIX_RT_ALLOWED_HOSTS", "box.example, Other.example")
    access = access_to(Settings(), "127.0.0.1")
    http = client_of(sqlite, access)
    assert http.get("/api/traces", headers={"host": "other.example:8000"}).status_code == 200
    error_of(http.get("/api/traces", headers={"host": "third.example"}), 421)


def test_addresses_are_accepted_and_unknown_names_refused(
    guarded: TestClient, tokens: dict[Scope, str]
) -> None:
    right = bearer(tokens["read"])
    assert guarded.get("/api/traces", headers=right | {"host": "192.0.2.7:8000"}).status_code == 200
    error_of(guarded.get("/api/traces", headers=right | {"host": "evil.example"}), 421)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:3000",
        "http://127.0.0.1",
        "null",
        "",
        "file://",
        "http://[",
        "x",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_from_another_origin_is_refused(local: TestClient, method: str, origin: str) -> None:
    sent = body("Was this ever stored?")
    response = local.request(method, "/api/traces", headers={"origin": origin}, json=sent)
    assert error_of(response, 403)["code"] == "wrong-origin"
    assert local.get("/api/traces?query=ever").json()["pagination"]["total"] == 0


def test_a_request_from_the_servers_own_pages_is_answered(local: TestClient) -> None:
    own = local.post("/api/traces", headers={"origin": BASE_URL}, json=body("From its own page?"))
    assert own.status_code == 201
    behind_tls = {"host": "localhost", "origin": "https://localhost"}
    assert local.get("/api/traces", headers=behind_tls).status_code == 200


def test_cross_site_embeds_are_refused_and_links_followed(local: TestClient) -> None:
    foreign = {"sec-fetch-site": "cross-site"}
    embedded = local.get("/api/traces", headers=foreign | {"sec-fetch-mode": "no-cors"})
    assert error_of(embedded, 403)["code"] == "wrong-origin"
    assert local.get("/docs", headers=foreign | {"sec-fetch-mode": "navigate"}).status_code == 200
    assert embedded.headers["cross-origin-resource-policy"] == "same-origin"
    assert embedded.headers["x-content-type-options"] == "nosniff"


def test_no_websocket_gets_around_the_checks(local: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as refused, local.websocket_connect("/api/traces"):
        pass
    assert refused.value.code == 1008


def test_tokens_are_counted_by_what_they_still_open(store: Home) -> None:
    now = datetime.now(UTC)
    first, _ = create_token(TokenRepository(store.database), "first", "read")
    create_token(TokenRepository(store.database), "second", "admin", lifetime=timedelta(days=1))
    assert TokenRepository(store.database).num_valid(now) == 2
    assert TokenRepository(store.database).num_valid(now + timedelta(days=2)) == 1
    TokenRepository(store.database).revoke(first.token_id, datetime.now(UTC))
    assert TokenRepository(store.database).num_valid(now + timedelta(days=2)) == 0
