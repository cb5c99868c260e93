"""Every API error has the same body: `{"detail", "next_step", "code"}`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from support.apps import make_app
from support.http import ERROR_KEYS, body, error_of

from tunix_rt.base.errors import MissingExtraError, TunixRTError
from tunix_rt.base.home import open_home
from tunix_rt.base.http.errors import ANY_REQUEST, STATUS_OF, status_of
from tunix_rt.base.settings import Settings

JSON = {"content-type": "application/json"}


@pytest.fixture
def app(tmp_path: Path, sqlite_template: Path) -> Iterator[FastAPI]:
    opened = open_home(Settings(home=tmp_path, database_url=f"sqlite:///{sqlite_template}"))
    yield make_app(opened)
    opened.close()


@pytest.fixture
def http(app: FastAPI) -> TestClient:
    return TestClient(app, raise_server_exceptions=False)


def error_classes(kind: type[TunixRTError] = TunixRTError) -> list[type[TunixRTError]]:
    return [kind, *(subclass for child in kind.__subclasses__() for subclass in error_classes(child))]


def with_meta(text: str) -> bytes:
    """Return a trace with this text as its `meta`, valid or not."""
    return json.dumps(body()).replace('"meta": {}', f'"meta": {text}').encode()


def test_every_error_class_has_a_status() -> None:
    base_classes = [kind for kind in error_classes() if kind.__module__ == "tunix_rt.base.errors"]
    assert set(base_classes) == STATUS_OF.keys()


def test_subclasses_inherit_their_status() -> None:
    for kind in error_classes():
        error = kind.__new__(kind)
        assert status_of(error) in range(400, 600), kind
    assert status_of(MissingExtraError("Parquet", extra="parquet")) == 501


def test_error_codes_are_unique() -> None:
    codes = {kind: kind.code for kind in STATUS_OF}
    assert len(set(codes.values())) == len(codes)


def test_documented_errors_share_one_schema(app: FastAPI) -> None:
    document = app.openapi()
    assert document["components"]["schemas"]["ErrorBody"]["properties"].keys() == ERROR_KEYS
    shapes = {
        (path, method, status): response["content"]["application/json"]["schema"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for status, response in operation["responses"].items()
        if int(status) >= 400
    }
    assert len(shapes) > 50
    # OpenAI clients expect their own error schema, which contains ours.
    schemas = {path: "OpenAIErrorBody" if path.startswith("/v1/") else "ErrorBody" for path, *_ in shapes}
    assert all(
        shape == {"$ref": f"#/components/schemas/{schemas[path]}"} for (path, *_), shape in shapes.items()
    )


def test_every_route_documents_common_errors(app: FastAPI) -> None:
    for path, operations in app.openapi()["paths"].items():
        for method, operation in operations.items():
            expected = set(map(str, ANY_REQUEST)) | ({"400"} if "requestBody" in operation else set())
            assert expected <= operation["responses"].keys(), (method, path)


@pytest.mark.parametrize(
    "path", ["/nowhere", "/api", "/api/nothing", "/api/traces/a/b/c", "/../../etc/passwd"]
)
def test_unknown_path_answers_404(http: TestClient, path: str) -> None:
    assert error_of(http.get(path), 404)["code"] == "not-found"


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE", "TRACE"])
def test_unsupported_method_answers_405(http: TestClient, method: str) -> None:
    response = http.request(method, "/api/traces")
    assert error_of(response, 405)["code"] == "method-not-allowed"
    assert response.headers["allow"]


@pytest.mark.parametrize(
    "content",
    [
        b'{"prompt":',
        b"{'prompt': 1}",
        b'{"prompt": "\xff"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        with_meta('{"n": ' + "9" * 100_000 + "}"),
    ],
    ids=["cut", "quotes", "latin", "open", "deep", "deep-object", "digits"],
)
@pytest.mark.parametrize(
    "path", ["/api/traces", "/api/traces/batch", "/api/traces/lint", "/api/datasets/build"]
)
def test_malformed_json_answers_400(http: TestClient, path: str, content: bytes) -> None:
    error_of(http.post(path, content=content, headers=JSON), 400)


def test_malformed_json_error_names_its_position(http: TestClient) -> None:
    error = error_of(http.post("/api/traces", content=b'{"a":', headers=JSON), 400)
    assert error["detail"] == "The body is not JSON: Expecting value at character 5."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Field required"),
        (b"null", "body"),
        (b"[1]", "dictionary or object"),
        (with_meta('{"x": NaN}'), "NaN"),
        (with_meta('{"x": -Infinity}'), "infinity"),
        (with_meta('{"x": 1e999999}'), "infinity"),
        (with_meta('{"x": ' + "9" * 400 + "}"), "64 bits"),
        (with_meta('{"x": "\\ud800"}'), "lone surrogate"),
        (with_meta('{"\\udfff": 1}'), "lone surrogate"),
        (with_meta('{"x": "\\u0000"}'), "NUL"),
        (with_meta('{"x": ' + "[" * 17 + "]" * 17 + "}"), "16 levels"),
        (with_meta('{}, "surprise": 1'), "surprise"),
        (with_meta('{"x": 1, "x": 2}'), "'x' occurs twice"),
        (with_meta(json.dumps({f"k{n}": n for n in range(1_001)})), "1,001 keys"),
        (json.dumps(body()).replace('"i": 0', '"i": 1e400').encode(), "steps.0.i"),
        (json.dumps(body() | {"prompt": "x" * 50_001}).encode(), "prompt"),
        (json.dumps(body() | {"prompt": "a\ud800"}).encode(), "lone surrogate"),
        (json.dumps(body() | {"steps": [{"i": 1, "content": "a"}] * 2}).encode(), "ascending"),
    ],
)
def test_invalid_trace_answers_422_with_reason(http: TestClient, content: bytes, message: str) -> None:
    error = error_of(http.post("/api/traces", content=content, headers=JSON), 422)
    assert message in error["detail"]
    assert http.get("/api/traces").json()["pagination"]["total"] == 0


def test_many_problems_are_summarized(http: TestClient) -> None:
    unknown = {f"unknown_{n}": 1 for n in range(500)}
    error = error_of(http.post("/api/traces", json=body() | unknown), 422)
    assert error["detail"].endswith("and 495 more")


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded", ""]
)
def test_other_content_types_answer_422(http: TestClient, content_type: str) -> None:
    error_of(http.post("/api/traces", content=b"<a/>", headers={"content-type": content_type}), 422)


@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary=x"])
def test_malformed_form_answers_400(http: TestClient, content_type: str) -> None:
    headers = {"content-type": content_type}
    error = error_of(http.post("/api/datasets/ingest", content=b"no form", headers=headers), 400)
    assert "form" in error["detail"]


def test_internal_error_hides_its_traceback(app: FastAPI) -> None:
    @app.get("/bug")
    def bug() -> None:
        raise RuntimeError("secret detail")

    response = TestClient(app, raise_server_exceptions=False).get("/bug")
    assert error_of(response, 500)["code"] == "internal"
    assert "secret" not in response.text


@pytest.mark.parametrize("kind", [kind for kind in STATUS_OF if kind is not MissingExtraError])
def test_domain_errors_keep_message_and_code(app: FastAPI, kind: type[TunixRTError]) -> None:
    @app.get("/broken")
    def broken() -> None:
        raise kind("what is wrong", next_step="what to do")

    error: dict[str, Any] = error_of(TestClient(app).get("/broken"), STATUS_OF[kind])
    assert error == {"detail": "what is wrong", "next_step": "what to do", "code": kind.code}
