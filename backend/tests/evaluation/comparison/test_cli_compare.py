"""`tunix-rt compare` and `tunix-rt eval leaderboard` on evaluation directories."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.evaluations import make_prediction, make_predictions, write_evaluation
from typer.testing import CliRunner

from tunix_rt.base.errors import TunixRTError
from tunix_rt.cli.main import app


def run(*arguments: str | Path, exit_code: int = 0) -> str:
    """Return the output of a command, or the text of its error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, TunixRTError):
        assert result.exception.exit_code == exit_code, result.exception
        return str(result.exception)
    assert result.exit_code == exit_code, result.output
    return result.stdout


def run_json(*arguments: str | Path) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    """Directories of a base model, a better run, and a run with sampled answers."""
    write_evaluation(tmp_path / "base-model", "1100" * 10, age_hours=2)
    write_evaluation(tmp_path / "run-1", "0111" * 10, age_hours=1)
    write_evaluation(tmp_path / "run-2", ["10"] * 40)
    return tmp_path


def test_comparison_shows_difference_and_flips(evaluated: Path) -> None:
    text = run("compare", evaluated / "base-model", evaluated / "run-1", "--flips", "1")
    overall = next(line for line in text.splitlines() if line.startswith("overall"))
    assert overall.split()[:5] == ["overall", "40", "50.0%", "75.0%", "+25.0"]
    assert "LOST  item-0" in text
    assert "What is 9 + 9? (item-0)" in text
    assert "base: 18 (correct)" in text
    assert "other: 17 (wrong)" in text
    assert "1 of 30 changed items shown; --flips 30 shows all" in text


def test_json_includes_all_flips_by_default(evaluated: Path) -> None:
    directories = evaluated / "base-model", evaluated / "run-1"
    comparison = run_json("compare", *directories)
    assert comparison["overall"]["num_lost"] == 10
    assert comparison["overall"]["num_gained"] == 20
    assert len(comparison["flips"]) == 30
    assert len(run_json("compare", *directories, "--flips", "2")["flips"]) == 2


def test_evaluations_resolve_by_prefix_and_run(evaluated: Path) -> None:
    by_path = run_json("compare", evaluated / "base-model", evaluated / "run-1")
    by_reference = run_json("compare", by_path["base_id"][:8], "run-1")
    assert by_reference == by_path


def test_different_protocols_require_flag(evaluated: Path) -> None:
    directories = evaluated / "base-model", evaluated / "run-2"
    error = run("compare", *directories, exit_code=2)
    assert "decoding.temperature: 0.0 / 0.7" in error
    assert "--allow-different-protocols" in error
    text = run("compare", *directories, "--allow-different-protocols")
    assert "different protocols: decoding.num_samples: 1 / 2" in text


def test_comparison_filters_by_section(tmp_path: Path) -> None:
    base = [make_prediction("a"), make_prediction("b", section="edge_case")]
    other = [make_prediction("a", "wrong"), make_prediction("b", "wrong", section="edge_case")]
    write_evaluation(tmp_path / "a", base)
    write_evaluation(tmp_path / "b", other)
    comparison = run_json("compare", tmp_path / "a", tmp_path / "b", "--section", "edge_case")
    assert [flip["item_id"] for flip in comparison["flips"]] == ["b"]
    assert list(comparison["by_section"]) == ["edge_case"]
    assert "Did you mean 'core'?" in run(
        "compare", tmp_path / "a", tmp_path / "b", "--section", "cor", exit_code=2
    )


def test_control_characters_are_replaced(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x07gone"
    write_evaluation(tmp_path / "a", make_predictions("1"))
    wrong = make_prediction("item-0", "wrong", answer=hostile)
    write_evaluation(tmp_path / "b", [wrong])
    text = run("compare", tmp_path / "a", tmp_path / "b")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "�[2J�gone" in text


def test_edited_predictions_are_refused(evaluated: Path) -> None:
    file = evaluated / "run-1" / "predictions.jsonl"
    file.write_text(file.read_text().replace('"wrong"', '"correct"'))
    assert "is not the file" in run("compare", evaluated / "base-model", evaluated / "run-1", exit_code=3)


@pytest.fixture
def stored(evaluated: Path) -> None:
    for name in ("base-model", "run-1", "run-2"):
        run("eval", "add", evaluated / name)


@pytest.mark.usefixtures("stored")
def test_leaderboard_ranks_by_protocol() -> None:
    text = run("eval", "leaderboard")
    assert "2 protocols: their scores are not comparable" in text
    assert "base-model *" in text
    assert "40 × 2" in text
    board = run_json("eval", "leaderboard")
    sampled, greedy = board["groups"]
    assert [entry["evaluation"]["model"]["name"] for entry in sampled["entries"]] == ["run-2"]
    assert [(entry["rank"], entry["is_tied"]) for entry in greedy["entries"]] == [(1, True), (1, True)]
    assert greedy["entries"][0]["difference_to_base"] == 0.25


@pytest.mark.usefixtures("stored")
def test_filtered_leaderboard_keeps_base_row() -> None:
    board = run_json("eval", "leaderboard", "--dataset", "sums-v1", "--to", "2026-01-01T11:30")
    (group,) = board["groups"]
    assert [entry["evaluation"]["model"]["name"] for entry in group["entries"]] == ["run-1", "base-model"]


def test_empty_leaderboard_suggests_evaluating() -> None:
    assert "tunix-rt eval MODEL" in run("eval", "leaderboard")


def test_invalid_date_is_a_usage_error() -> None:
    assert "--from" in run("eval", "leaderboard", "--from", "tomorrow", exit_code=2)
