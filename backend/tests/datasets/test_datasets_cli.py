"""`tunix-rt data …`."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.datasets import build, jsonl, sums
from typer.testing import CliRunner

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.datasets.ingest import default_name_and_version


def run(*arguments: str, exit_code: int = 0) -> Any:
    """Return the JSON that a data command prints, or the error that it raises."""
    result = CliRunner().invoke(app, ["data", *arguments, "--json"])
    if isinstance(result.exception, TunixRTError):
        assert result.exception.exit_code == exit_code, result.exception
        return result.exception
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


def test_commands_cover_dataset_lifecycle(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(jsonl(*(row.trace() for row in sums(30))))
    assert run("ingest", str(file), "--name", "demo")["dataset"]["status"] == "created"
    assert run("build", "--name", "demo", "--version", "v2", "--limit", "10")["trace_count"] == 10
    assert [entry["dataset_key"] for entry in run("list")["data"]] == ["demo-v1", "demo-v2"]
    assert run("show", "demo-v2")["num_rows"] == 10
    assert run("diff", "demo-v1", "demo-v2")["num_removed"] == 20
    assert len(run("rows", "demo-v1", "--limit", "3")["data"]) == 3
    assert run("validate", "demo-v1")["intact"] is True
    exported = run("export", "demo-v2", "--output", str(tmp_path / "out"))
    assert sum(exported["rows_by_file"].values()) == 10
    assert run("delete", "demo-v1") == {"deleted": "demo-v1"}
    assert run("show", "demo-v1", exit_code=2).code == "not-found"


def test_text_output_of_every_command(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(jsonl(*(row.trace() for row in sums(30))))
    for arguments, expected in (
        (["list"], "no datasets yet"),
        (["ingest", str(file), "--name", "demo"], "Built demo-v1"),
        (["build", "--name", "demo"], "nothing was changed"),
        (["build", "--name", "demo", "--version", "v2", "--limit", "9"], "removed 21 (limit)"),
        (["list"], "demo-v2"),
        (["show", "demo-v1"], "contamination: clean"),
        (["rows", "demo-v1"], "What is"),
        (["diff", "demo-v1", "demo-v2"], "rows removed"),
        (["validate", "demo-v1"], "intact"),
        (["export", "demo-v1", "--format", "messages"], '"role":"assistant"'),
        (["delete", "demo-v1"], "Deleted"),
    ):
        result = CliRunner().invoke(app, ["data", *arguments])
        assert result.exit_code == 0, result.output
        assert expected in result.stdout, arguments


def test_validate_exits_1_on_damage(tmp_path: Path) -> None:
    home = Path(Settings().home)
    build(home, sums(5))
    (home / "datasets/demo-v1/train.jsonl").write_text("changed\n")
    assert run("validate", "demo-v1", exit_code=1)["intact"] is False
    for command in ("export", "rows"):
        assert run(command, "demo-v1", exit_code=3).code == "bad-data"
    run("delete", "demo-v1")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a"}\n')
    assert run("validate", str(bad), exit_code=1)["is_valid"] is False


def test_validate_finds_contamination(tmp_path: Path) -> None:
    build(Path(Settings().home), sums(5))
    file = tmp_path / "evalset.jsonl"
    item = {"id": "e1", "prompt": "What is 3 + 7?", "expected_answer": "10"}
    file.write_text(json.dumps(item | {"section": "core", "category": "c", "difficulty": "easy"}) + "\n")
    report = run("validate", str(file), exit_code=1)
    assert report["problems"][0]["code"] == "contaminated"


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "--name", "../x"],
        ["build", "--name", "x", "--split", "train"],
        ["build", "--name", "x", "--split", "train=many"],
        ["build", "--name", "x", "--split", "train=0.5"],
        ["build", "--name", "x", "--dedup", "fuzzy"],
        ["export", "x-v1", "--format", "xml"],
        ["show", "../x"],
    ],
)
def test_bad_option_is_usage_error(arguments: list[str]) -> None:
    error = run(*arguments, exit_code=2)
    assert error.next_step


def test_shipped_dataset_is_ingested_by_name() -> None:
    report = run("ingest", "dev-reasoning-v2")
    assert report["dataset"]["dataset_key"] == "dev-reasoning-v2"
    assert report["dataset"]["manifest"]["contamination"]["verdict"] == "clean"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("dev-reasoning-v2", ("dev-reasoning", "v2")),
        ("data/GSM8K train.jsonl.gz", ("gsm8k-train", "v1")),
        ("-", ("stdin", "v1")),
        ("日本.jsonl", ("dataset", "v1")),
    ],
)
def test_default_name_follows_file_name(file: str, expected: tuple[str, str]) -> None:
    assert default_name_and_version(file) == expected
