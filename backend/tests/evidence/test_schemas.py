"""The published JSON schemas match the types, and real bundles validate against them."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from support.evidence_runs import packed

from tunix_rt.evidence.reader import TYPES, schema_of, schema_text
from tunix_rt.evidence.types import KINDS, kind_of

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"


@pytest.mark.parametrize("name", sorted(TYPES))
def test_published_schema_matches_types(name: str, request: pytest.FixtureRequest) -> None:
    path = SCHEMAS / f"{name}.schema.json"
    if request.config.getoption("--update-golden"):
        path.write_text(schema_text(name), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == schema_text(name), f"{path.name} is stale: run make docs"


def test_every_json_file_has_schema() -> None:
    missing = [
        kind.pattern
        for kind in KINDS
        if kind.pattern.endswith((".json", ".jsonl")) and not kind.content_schema
    ]

    assert missing == []
    assert {path.name.split(".")[0] for path in SCHEMAS.iterdir()} == TYPES.keys()


def test_schemas_reject_null_figures() -> None:
    line = {
        "step": 1, "epoch": 1.0, "loss": None, "lr": 1.0, "grad_norm": 1.0, "tokens": 1, "trained_tokens": 1,
        "time": "2026-01-01T00:00:00Z",
    }  # fmt: skip

    assert not jsonschema_rs.is_valid(schema_of("metrics_line"), line)
    assert jsonschema_rs.is_valid(schema_of("metrics_line"), line | {"loss": 1.0})
    assert not jsonschema_rs.is_valid(schema_of("metrics_line"), line | {"loss": 1.0, "mfu": None})


def test_bundle_files_match_schemas(tmp_path: Path) -> None:
    bundle = packed(tmp_path / "home", tmp_path / "bundle")
    checked = 0
    for path in bundle.rglob("*"):
        kind = kind_of(path.relative_to(bundle).as_posix()) if path.is_file() else None
        if kind is None or kind.content_schema is None:
            continue
        validator = jsonschema_rs.validator_for(schema_of(kind.content_schema))
        texts = (
            path.read_text(encoding="utf-8").splitlines()
            if kind.is_lines
            else [path.read_text(encoding="utf-8")]
        )
        for text in texts:
            assert [error.message for error in validator.iter_errors(json.loads(text))] == [], path.name
        checked += 1
    assert checked >= 15
