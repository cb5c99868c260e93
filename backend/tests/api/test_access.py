"""Tokens, scopes, allowed hosts and origins of every route, and the throttling of invalid tokens."""

import asyncio
import re
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import ASGITransport, AsyncClient, Response
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.websockets import WebSocketDisconnect
from support.apps import make_app
from support.http import body, error_of

from tunix_rt.api.access import KNOWN_FOR_S, MAX_FAILURES, OPEN_PATHS, Access, TokenCheck, access_to
from tunix_rt.api.app import ROUTERS
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.system.access import create_token
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import SCOPES, ApiToken, Scope, allows, needed_scope

BASE_URL = "http://127.0.0.1:8000"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def make_client(store: Home, access: Access) -> TestClient:
    return TestClient(make_app(store, access), base_url=BASE_URL)


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Home]:
    """A store shared by the tests of this file, most of which change nothing."""
    home = tmp_path_factory.mktemp("home")
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    opened = open_home(Settings(home=home))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tokens(sqlite_store: Home) -> dict[Scope, str]:
    return {scope: create_token(TokenRepository(sqlite_store.database), scope, scope)[1] for scope in SCOPES}


@pytest.fixture(scope="module")
def guarded(sqlite_store: Home) -> TestClient:
    """An app that requires tokens, as it does beyond loopback."""
    return make_client(sqlite_store, access_to(sqlite_store.settings, "0.0.0.0"))


@pytest.fixture(scope="module")
def local(sqlite_store: Home) -> TestClient:
    """An app as `tunix-rt up` creates it without options."""
    return make_client(sqlite_store, access_to(sqlite_store.settings, "127.0.0.1"))


def list_requests(app: FastAPI) -> list[tuple[str, str]]:
    """Return every method and path of the app, documented or not."""
    routes = [*app.routes, *(route for router in ROUTERS for route in router.routes)]
    found = {request for route in routes for request in _requests(route)}
    described = {_fill_parameters(path) for path in app.openapi()["paths"]}
    assert described <= {path for _, path in found}
    return sorted(found)


def _requests(route: BaseRoute) -> Iterator[tuple[str, str]]:
    if isinstance(route, Mount):
        yield "GET", f"{route.path}/anything"
    elif isinstance(route, Route):
        yield from ((method, _fill_parameters(route.path)) for method in route.methods or {"GET"})


def _fill_parameters(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "1", path)


def test_every_route_requires_a_token(guarded: TestClient) -> None:
    app = guarded.app
    assert isinstance(app, FastAPI)
    known = list_requests(app)
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


def test_insufficient_scope_is_refused_everywhere(guarded: TestClient, tokens: dict[Scope, str]) -> None:
    app = guarded.app
    assert isinstance(app, FastAPI)
    refused = set()
    for method, path in list_requests(app):
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
def test_needed_scope_of_requests(method: str, path: str, needed: Scope) -> None:
    assert needed_scope(method, path) == needed


def test_scope_limits_a_token(store: Home) -> None:
    http = make_client(store, Access())
    (_, reader), (_, writer) = (
        create_token(TokenRepository(store.database), "someone", scope) for scope in ("read", "write")
    )
    assert http.get("/api/traces", headers=bearer(reader)).status_code == 200
    error_of(http.post("/api/traces", json=body(), headers=bearer(reader)), 403)
    assert http.post("/api/traces", json=body(), headers=bearer(writer)).status_code == 201


@pytest.mark.parametrize("state", ["revoked", "expired", "unknown", "cut", "empty"])
def test_invalid_token_is_refused(store: Home, state: str) -> None:
    lifetime = timedelta(days=-1) if state == "expired" else None
    created, token = create_token(TokenRepository(store.database), "someone", "admin", lifetime=lifetime)
    if state == "revoked":
        TokenRepository(store.database).revoke(created.token_id, datetime.now(UTC))
    sent = {"unknown": "trt_00000000_nothing", "cut": token[:-1], "empty": ""}.get(state, token)
    error_of(make_client(store, Access()).get("/api/traces", headers=bearer(sent)), 401)


def test_revocation_takes_effect_within_seconds(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("tunix_rt.api.access.time.monotonic", lambda: now_s[0])
    http = make_client(store, Access())
    created, token = create_token(TokenRepository(store.database), "someone", "read")
    assert http.get("/api/traces", headers=bearer(token)).status_code == 200
    TokenRepository(store.database).revoke(created.token_id, datetime.now(UTC))
    now_s[0] += KNOWN_FOR_S
    error_of(http.get("/api/traces", headers=bearer(token)), 401)


def test_last_use_has_minute_precision(store: Home) -> None:
    created, token = create_token(TokenRepository(store.database), "someone", "read")
    make_client(store, Access()).get("/api/traces", headers=bearer(token))
    (used,) = TokenRepository(store.database).list()
    assert used.last_used_at is not None
    TokenRepository(store.database).note_use(used, used.last_used_at + timedelta(seconds=59))
    assert TokenRepository(store.database).list() == (used,)
    TokenRepository(store.database).note_use(used, used.last_used_at + timedelta(seconds=61))
    assert TokenRepository(store.database).list() != (used,)
    assert created.last_used_at is None


def test_only_token_hashes_are_stored(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    _, token = create_token(TokenRepository(store.database), "someone", "admin")
    store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"someone" in stored
    assert token.encode() not in stored
    assert token.split("_", 2)[2].encode() not in stored


def test_loopback_needs_no_token(local: TestClient) -> None:
    assert local.get("/api/traces").status_code == 200
    assert local.post("/api/traces", json=body()).status_code == 201


def test_loopback_still_checks_sent_tokens(local: TestClient, tokens: dict[Scope, str]) -> None:
    error_of(local.get("/api/traces", headers=bearer("trt_00000000_guessed")), 401)
    error_of(local.post("/api/traces", json=body(), headers=bearer(tokens["read"])), 403)
    assert local.get("/api/traces", headers=bearer(tokens["read"])).status_code == 200


def test_loopback_ignores_openai_client_keys(local: TestClient) -> None:
    assert local.get("/api/traces", headers=bearer("sk-anything")).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_proxied_loopback_requests_need_a_token(
    local: TestClient, tokens: dict[Scope, str], header: str
) -> None:
    forwarded = {header: "203.0.113.9"}
    error_of(local.get("/api/traces", headers=forwarded), 401)
    assert local.get("/api/traces", headers=forwarded | bearer(tokens["read"])).status_code == 200


def test_setting_requires_tokens_on_loopback(sqlite_store: Home) -> None:
    access = access_to(Settings(home=sqlite_store.settings.home, require_token=True), "127.0.0.1")
    error_of(make_client(sqlite_store, access).get("/api/traces"), 401)


def guess(http: TestClient, number: int, **headers: str) -> Response:
    return http.get("/api/traces", headers=bearer(f"trt_{number:08}_guess") | headers)


def test_valid_tokens_are_never_throttled(sqlite_store: Home, tokens: dict[Scope, str]) -> None:
    http = make_client(sqlite_store, Access())
    assert {guess(http, number).status_code for number in range(MAX_FAILURES)} == {401}
    refused = guess(http, MAX_FAILURES)
    assert error_of(refused, 429)["code"] == "too-many-failures"
    assert 0 < int(refused.headers["retry-after"]) <= 60
    # None of them was seen by this server before; one is created only now.
    _, newest = create_token(TokenRepository(sqlite_store.database), "newest", "read")
    for token in (*tokens.values(), newest):
        assert http.get("/api/traces", headers=bearer(token)).status_code == 200
    assert http.get("/api/traces").status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_claimed_addresses_do_not_evade_the_limit(sqlite_store: Home, header: str) -> None:
    app = make_app(sqlite_store, Access())
    for number in range(MAX_FAILURES + 1):  # uvicorn takes the address from the header
        http = TestClient(app, base_url=BASE_URL, client=(f"192.0.2.{number}", 1))
        status = guess(http, number, **{header: f"192.0.2.{number}"}).status_code
    assert status == 429


def test_guesses_for_one_token_are_limited_everywhere(sqlite_store: Home, tokens: dict[Scope, str]) -> None:
    app, prefix = make_app(sqlite_store, Access()), tokens["read"][: len("trt_3f9c2a11")]
    for number in range(MAX_FAILURES + 1):
        http = TestClient(app, base_url=BASE_URL, client=(f"192.0.2.{number}", 1))
        status = http.get("/api/traces", headers=bearer(f"{prefix}_{number}")).status_code
    assert status == 429
    assert http.get("/api/traces", headers=bearer(tokens["read"])).status_code == 200


class SlowTokens(TokenRepository):
    """Counts the lookups that run at the same time."""

    num_running = most_running = num_lookups = 0

    def find(self, token_hash: str) -> ApiToken | None:
        self.num_running += 1
        self.num_lookups += 1
        self.most_running = max(self.most_running, self.num_running)
        time.sleep(0.01)
        self.num_running -= 1
        return super().find(token_hash)


def test_limited_checks_occupy_few_threads(sqlite_store: Home, tokens: dict[Scope, str]) -> None:
    repository = SlowTokens(sqlite_store.database)
    check = TokenCheck(Starlette(), repository, Access())

    async def status_of(token: str, number: int) -> int:
        transport = ASGITransport(app=check, client=("192.0.2.1", number))
        async with AsyncClient(transport=transport, base_url=BASE_URL) as http:
            return (await http.get("/none", headers=bearer(token))).status_code

    async def statuses() -> tuple[set[int], set[int]]:
        for number in range(MAX_FAILURES):
            await status_of(f"trt_{number:08}_guess", number)
        repository.most_running = 0
        wrong = [status_of(f"trt_{number:08}_other", number) for number in range(40)]
        valid = [status_of(token, number) for number, token in enumerate(tokens.values())]
        done = await asyncio.gather(*wrong, *valid)
        return set(done[:40]), set(done[40:])

    assert asyncio.run(statuses()) == ({429}, {404})
    assert repository.most_running <= 2
    assert repository.num_lookups == MAX_FAILURES + 40 + len(tokens)


def test_missing_database_answers_503(tmp_path: Path) -> None:
    store = open_home(Settings(home=tmp_path))
    store.close()
    (tmp_path / "tunix_rt.db").unlink()
    http = make_client(store, Access())
    assert error_of(http.get("/api/traces", headers=bearer("trt_x")), 503)["code"] == "storage"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.8.9.1:80", "[::1]:8000"])
def test_loopback_hosts_are_accepted(local: TestClient, host: str) -> None:
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
def test_foreign_hosts_are_refused(local: TestClient, host: str) -> None:
    response = local.get("/api/traces", headers={"host": host})
    assert error_of(response, 421)["code"] == "wrong-host"


def test_setting_allows_more_hosts(sqlite_store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNIX_RT_ALLOWED_HOSTS", "box.example, Other.example")
    access = access_to(Settings(), "127.0.0.1")
    http = make_client(sqlite_store, access)
    assert http.get("/api/traces", headers={"host": "other.example:8000"}).status_code == 200
    error_of(http.get("/api/traces", headers={"host": "third.example"}), 421)


def test_ip_hosts_pass_unknown_names_fail(guarded: TestClient, tokens: dict[Scope, str]) -> None:
    valid = bearer(tokens["read"])
    assert guarded.get("/api/traces", headers=valid | {"host": "192.0.2.7:8000"}).status_code == 200
    error_of(guarded.get("/api/traces", headers=valid | {"host": "evil.example"}), 421)


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
def test_foreign_origin_is_refused(local: TestClient, method: str, origin: str) -> None:
    sent = body("Was this ever stored?")
    response = local.request(method, "/api/traces", headers={"origin": origin}, json=sent)
    assert error_of(response, 403)["code"] == "wrong-origin"
    assert local.get("/api/traces?query=ever").json()["pagination"]["total"] == 0


def test_own_origin_is_accepted(local: TestClient) -> None:
    response = local.post("/api/traces", headers={"origin": BASE_URL}, json=body("From its own page?"))
    assert response.status_code == 201
    behind_tls = {"host": "localhost", "origin": "https://localhost"}
    assert local.get("/api/traces", headers=behind_tls).status_code == 200


def test_cross_site_embeds_fail_links_work(local: TestClient) -> None:
    foreign = {"sec-fetch-site": "cross-site"}
    embedded = local.get("/api/traces", headers=foreign | {"sec-fetch-mode": "no-cors"})
    assert error_of(embedded, 403)["code"] == "wrong-origin"
    assert local.get("/docs", headers=foreign | {"sec-fetch-mode": "navigate"}).status_code == 200
    assert embedded.headers["cross-origin-resource-policy"] == "same-origin"
    assert embedded.headers["x-content-type-options"] == "nosniff"


def test_websockets_are_refused(local: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as refused, local.websocket_connect("/api/traces"):
        pass
    assert refused.value.code == 1008


def test_num_valid_excludes_expired_and_revoked(store: Home) -> None:
    now = datetime.now(UTC)
    first, _ = create_token(TokenRepository(store.database), "first", "read")
    create_token(TokenRepository(store.database), "second", "admin", lifetime=timedelta(days=1))
    assert TokenRepository(store.database).num_valid(now) == 2
    assert TokenRepository(store.database).num_valid(now + timedelta(days=2)) == 1
    TokenRepository(store.database).revoke(first.token_id, datetime.now(UTC))
    assert TokenRepository(store.database).num_valid(now + timedelta(days=2)) == 0
