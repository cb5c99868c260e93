"""The trace commands: text output, `--json`, errors and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.builders import make_trace
from typer.testing import CliRunner, Result

from tunix_rt.base.errors import TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.traces.linter.findings import LINTER_VERSION
from tunix_rt.traces.types import canonical_json

UNKNOWN_ID = "01234567-89ab-8def-8123-456789abcdef"
WRONG = make_trace("What is 2 + 3?", ["2 + 3 = 6"], "6", source="books")
RIGHT = make_trace("What is 2 + 3?", ["2 + 3 = 5"], "5", source="books")


@pytest.fixture(autouse=True)
def _store(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every command on the store of this test, once per database."""
    if settings.database_url is not None:
        monkeypatch.setenv("TUNIX_RT_DATABASE_URL", settings.database_url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text(f"{canonical_json(WRONG)}\n{canonical_json(RIGHT)}\n", encoding="utf-8")
    return path


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["traces", *map(str, arguments)])


def run(*arguments: str | Path) -> str:
    """Return the text output of a command."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments: str | Path) -> Any:
    """Return the `--json` output of a command."""
    return json.loads(run(*arguments, "--json"))


def failure(*arguments: str | Path) -> TunixRTError:
    error = invoke(*arguments).exception
    assert isinstance(error, TunixRTError), error
    return error


def stored_ids() -> list[str]:
    return [item["id"] for item in run_json("list")["data"]]


def test_import_is_idempotent(file: Path) -> None:
    assert "Imported 2 of 2 trace rows" in run("import", file)
    again = run_json("import", file)
    assert (again["num_read"], again["num_imported"], again["num_present"]) == (2, 0, 2)


def test_invalid_row_rejects_the_import(file: Path, tmp_path: Path) -> None:
    with file.open("a") as more:
        more.write('{"prompt": "half a trace"}\n')
    error = failure("import", file)
    assert (error.exit_code, error.code) == (3, "bad-data")
    assert "line 3" in error.detail
    assert stored_ids() == []
    rejects = tmp_path / "rejects.jsonl"
    result = invoke("import", file, "--skip-invalid", "--rejects", rejects)
    assert "rejected line 3" in result.stderr
    assert json.loads(rejects.read_text())["line"] == 3
    assert len(stored_ids()) == 2


def test_list_filters_and_pages(file: Path) -> None:
    assert "No traces match" in run("list")
    run("import", file)
    page = run_json("list", "--source", "books", "--limit", "1")
    assert (len(page["data"]), page["pagination"]["next_offset"]) == (1, 1)
    assert run_json("list", "--query", "nothing")["data"] == []
    text = run("list")
    assert all(trace_id in text for trace_id in stored_ids())
    assert "1–2 of 2" in text
    assert "never linted" in run("list", "--min-score", "50")


def test_show_prints_steps_and_findings(file: Path) -> None:
    run("import", file)
    wrong = run_json("list", "--query", "6")["data"][0]["id"]
    assert "never linted" in run("show", wrong)
    assert run_json("show", wrong)["report"] is None
    run("lint")
    text = run("show", wrong)
    assert "2 + 3 = 6" in text
    assert "arithmetic-wrong: 6, expected 5" in text
    shown = run_json("show", wrong)
    assert shown["payload"]["prompt"] == "What is 2 + 3?"
    assert shown["report"]["findings"][0]["code"] == "arithmetic-wrong"


def test_lint_skips_linted_traces(file: Path) -> None:
    run("import", file)
    assert "Linted 2 traces" in run("lint")
    assert run_json("lint") == {"linted": 0, "linter_version": LINTER_VERSION}
    assert [item["score"] for item in run_json("list", "--code", "arithmetic-wrong")["data"]] != [100.0]


def test_compare_aligns_the_steps(file: Path) -> None:
    run("import", file)
    ids = stored_ids()
    assert "different answers" in run("compare", *ids)
    compared = run_json("compare", *ids)["comparison"]
    assert (compared["same_prompt"], compared["same_answer"]) == (True, False)
    assert compared["steps"][0]["kind"] == "changed"


def test_export_round_trips_the_import(file: Path, tmp_path: Path) -> None:
    run("import", file)
    assert sorted(run("export").splitlines()) == sorted(file.read_text().splitlines())
    assert "Wrote 2 traces" in run("export", "--output", tmp_path / "out.jsonl")
    assert run_json("export", "--output", tmp_path / "out.jsonl.gz")["num_exported"] == 2
    messages = json.loads(run("export", "--format", "messages", "--query", "6").splitlines()[0])
    assert [message["role"] for message in messages["messages"]] == ["user", "assistant"]


def test_generate_is_reproducible(tmp_path: Path) -> None:
    assert run_json("generate", "--count", "5", "--seed", "3") == {"added": 5, "already_there": 0}
    assert "5 were there already" in run("generate", "--count", "5", "--seed", "3")
    out = tmp_path / "made.jsonl"
    assert run_json("generate", "--count", "5", "--seed", "3", "--output", out)["written"] == 5
    assert sorted(out.read_text().splitlines()) == sorted(run("export").splitlines())
    assert any(task["name"] == "long_division" for task in run_json("generate", "--list"))
    assert "long_division" in run("generate", "--list")


def test_delete_removes_one_trace(file: Path) -> None:
    run("import", file)
    first, second = stored_ids()
    assert first in run("delete", first)
    assert run_json("delete", second) == {"deleted": second}
    assert stored_ids() == []


@pytest.mark.parametrize(
    "arguments", [("show", UNKNOWN_ID), ("delete", UNKNOWN_ID), ("compare", UNKNOWN_ID, UNKNOWN_ID)]
)
def test_unknown_trace_is_usage_error(arguments: tuple[str, ...]) -> None:
    error = failure(*arguments)
    assert (error.exit_code, error.code) == (2, "not-found")
    assert "tunix-rt traces list" in error.next_step
