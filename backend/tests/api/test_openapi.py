"""The OpenAPI document that the TypeScript client is generated from."""

from pathlib import Path

import pytest

from tunix_rt.api.openapi import openapi_document


def test_openapi_document_needs_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TUNIX_RT_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")

    document = openapi_document()

    assert {"/api/health", "/api/traces", "/api/datasets"} <= document["paths"].keys()
    assert not (tmp_path / "home").exists()
