"""Errors under /v1 have the OpenAI format in every layer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from support.apps import make_app

from tunix_rt.api.access import Access
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings

CHAT = "/v1/chat/completions"
JSON = {"content-type": "application/json"}
KEYS = {"message", "type", "param", "code", "detail", "next_step"}


@pytest.fixture
def sqlite_store(tmp_path: Path, sqlite_template: Path) -> Iterator[Home]:
    opened = open_home(Settings(home=tmp_path, database_url=f"sqlite:///{sqlite_template}"))
    yield opened
    opened.close()


def client_for(app: FastAPI) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def error_of(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert int(response.headers["content-length"]) == len(response.content)
    error: dict[str, Any] = response.json()["error"]
    assert error.keys() == KEYS
    assert error["message"] == f"{error['detail']} {error['next_step']}"
    return error


def chat_request(**fields: Any) -> dict[str, Any]:
    return {"model": "missing", "messages": [{"role": "user", "content": "?"}], **fields}


def test_every_layer_returns_openai_errors(sqlite_store: Home) -> None:
    client = client_for(make_app(sqlite_store))
    assert error_of(client.post(CHAT, json=chat_request()), 404)["code"] == "not-found"
    assert error_of(client.get("/v1/nowhere"), 404)["type"] == "invalid_request_error"
    assert error_of(client.get(CHAT), 405)["code"] == "method-not-allowed"
    assert error_of(client.post(CHAT, content=b"{", headers=JSON), 400)["code"] == "invalid-input"
    assert "surprise" in error_of(client.post(CHAT, json=chat_request(surprise=1)), 422)["detail"]
    huge = chat_request(messages=[{"role": "user", "content": "x" * 2**21}])
    assert error_of(client.post(CHAT, json=huge), 413)["code"] == "too-large"


def test_missing_token_is_authentication_error(sqlite_store: Home) -> None:
    client = client_for(make_app(sqlite_store, Access(requires_token=True)))
    assert error_of(client.post(CHAT, json=chat_request()), 401)["type"] == "authentication_error"


def test_other_routes_keep_native_errors(sqlite_store: Home) -> None:
    response = client_for(make_app(sqlite_store)).get("/api/nowhere")
    assert response.json().keys() == {"detail", "next_step", "code"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "?"},
        {"role": "user", "content": [{"type": "image_url", "image_url": "x"}]},
        {"role": "user", "content": "a\ud800"},
        {"role": "user", "content": "?", "reasoning_content": "hm"},
        {"role": "user"},
    ],
    ids=["role", "image", "surrogate", "reasoning", "empty"],
)
def test_unsupported_messages_are_rejected(sqlite_store: Home, message: dict[str, Any]) -> None:
    body = json.dumps(chat_request(messages=[message]))
    response = client_for(make_app(sqlite_store)).post(CHAT, content=body, headers=JSON)
    error_of(response, 422)


def test_empty_registry_lists_no_models(sqlite_store: Home) -> None:
    assert client_for(make_app(sqlite_store)).get("/v1/models").json() == {"object": "list", "data": []}
