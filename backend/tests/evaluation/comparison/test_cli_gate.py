"""`tunix-rt gate` and `tunix-rt baselines`, as a CI job runs them."""

import json
from pathlib import Path

import pytest
from support.children import run_here
from support.evaluations import make_evaluation, make_predictions, write_evaluation
from typer.testing import CliRunner

from tunix_rt.base.errors import NotFoundError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.cli.main import app
from tunix_rt.evaluation.comparison.gate import (
    GateBaseline,
    RuleChanges,
    check_gate,
    named_baseline,
    newest_successor,
    set_baseline,
)
from tunix_rt.evaluation.comparison.types import GateRule
from tunix_rt.evaluation.store import EvaluationRepository


def run(*arguments: str | Path, exit_code: int = 0) -> str:
    """Return the output of a command, or the text of its error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, TunixRTError):
        assert result.exception.exit_code == exit_code, result.exception
        return str(result.exception)
    assert result.exit_code == exit_code, result.output
    return result.stdout


@pytest.fixture
def evaluated(tmp_path: Path) -> Path:
    """A baseline with 30 of 40 correct, and evaluations that keep them, lose one, and lose ten."""
    write_evaluation(tmp_path / "old", "1" * 30 + "0" * 10, age_hours=4)
    write_evaluation(tmp_path / "same", "1" * 30 + "0" * 10, age_hours=3)
    write_evaluation(tmp_path / "slip", "0" + "1" * 35 + "0" * 4, age_hours=2)
    write_evaluation(tmp_path / "worse", "0" * 10 + "1" * 20 + "0" * 10, age_hours=1)
    write_evaluation(tmp_path / "sampled", ["11"] * 40)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "exit_code", "expected"),
    [
        ("same", 0, "PASS  same against"),
        ("worse", 1, "significant loss of 25.0 points"),
        ("sampled", 2, "different protocols"),
    ],
)
def test_exit_code_reports_verdict(evaluated: Path, name: str, exit_code: int, expected: str) -> None:
    settings = Settings(home=evaluated / "home")
    for file in ("request.json", "items.jsonl"):
        (evaluated / "old" / file).unlink()  # the record and its predictions are enough
    result = run_here("gate", evaluated / name, "--baseline", evaluated / "old", settings=settings)
    assert result.returncode == exit_code, result.stderr
    assert expected in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "expected"),
    [
        (["slip"], 0, "PASS  slip against"),
        (["slip", "--protect", "section=core"], 1, "1 protected item is no longer right: item-0"),
        (["worse", "--alpha", "0.001"], 0, "PASS"),
        (["nothing"], 2, "nothing"),
    ],
)
def test_rule_decides_verdict(evaluated: Path, arguments: list[str], exit_code: int, expected: str) -> None:
    name, *options = arguments
    text = run("gate", evaluated / name, "--baseline", evaluated / "old", *options, exit_code=exit_code)
    assert expected in text


def test_baseline_cannot_gate_itself(evaluated: Path) -> None:
    assert "is the baseline itself" in run(
        "gate", evaluated / "old", "--baseline", evaluated / "old", exit_code=2
    )


def test_json_verdict_includes_reasons_and_comparison(evaluated: Path) -> None:
    text = run("gate", evaluated / "worse", "--baseline", evaluated / "old", "--json", exit_code=1)
    verdict = json.loads(text)
    assert verdict["passed"] is False
    assert verdict["rule"]["alpha"] == 0.05
    assert verdict["comparison"]["overall"]["num_lost"] == 10
    assert verdict["reasons"]


def test_markdown_verdict_fences_model_text(tmp_path: Path) -> None:
    write_evaluation(tmp_path / "old", "1")
    wrong = make_predictions("0", answer="```</details>")
    write_evaluation(tmp_path / "new", wrong)
    text = run(
        "gate", tmp_path / "new", "--baseline", tmp_path / "old", "--markdown", "--protect", "item=item-0",
        exit_code=1,
    )  # fmt: skip
    assert text.startswith("### FAIL  new against")
    assert "| overall | 1 | 100.0% | 0.0% | -100.0 |" in text
    assert "````text\n<reasoning>" in text


def test_named_baseline_gates_newest_evaluation(evaluated: Path) -> None:
    assert "main is old on exam" in run(
        "baselines", "set", "main", evaluated / "old", "--protect", "section=core"
    )
    assert "No evaluation of exam is newer" in run("gate", "--baseline", "main", exit_code=2)
    run("eval", "add", evaluated / "same")
    assert "PASS  same against main (old)" in run("gate", "--baseline", "main")
    run("eval", "add", evaluated / "slip")
    assert "LOST  item-0" in run("gate", "--baseline", "main", exit_code=1)
    listed = run("baselines", "list")
    assert "section core" in listed
    assert json.loads(run("baselines", "list", "--json"))["data"][0]["name"] == "main"
    assert "Removed main" in run("baselines", "rm", "main")
    assert "There is no baseline 'main'" in run("gate", "--baseline", "main", exit_code=2)
    assert "no baselines yet" in run("baselines", "list")
    history = json.loads(run("baselines", "history", "main", "--json"))
    assert [(check["model_name"], check["passed"]) for check in history["data"]] == [
        ("slip", False),
        ("same", True),
    ]
    assert "FAIL" in run("baselines", "history")
    assert "No verdict yet" in run("baselines", "history", "other")


def test_setting_baseline_again_replaces_it(evaluated: Path) -> None:
    run("baselines", "set", "main", evaluated / "old", "--alpha", "0.2")
    moved = json.loads(run("baselines", "set", "main", evaluated / "slip", "--json"))
    assert moved["rule"]["alpha"] == 0.05
    assert json.loads(run("baselines", "list", "--json"))["data"] == [moved]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--protect", "section=cor"], "Did you mean 'core'?"),
        (["--protect", "category=algebra"], "Known: addition."),
        (["--protect", "item=item_0"], "Did you mean 'item-0'?"),
        (["--protect", "item=zzz"], "It has 40 of them"),
        (["--protect", "core"], "--protect section=core"),
        (["--protect", "section="], "--protect section=core"),
        (["--alpha", "0"], "between 0 and 1"),
    ],
)
def test_invalid_rule_is_refused(evaluated: Path, arguments: list[str], expected: str) -> None:
    assert expected in run("baselines", "set", "main", evaluated / "old", *arguments, exit_code=2)
    gate_error = run("gate", evaluated / "same", "--baseline", evaluated / "old", *arguments, exit_code=2)
    assert expected in gate_error


def test_baseline_name_rejects_paths(evaluated: Path) -> None:
    assert "cannot name a baseline" in run("baselines", "set", "../main", evaluated / "old", exit_code=2)


def test_gate_works_on_both_databases(store: Home) -> None:
    old_predictions, new_predictions = make_predictions("1" * 10), make_predictions("0" * 8 + "11")
    old = make_evaluation(old_predictions, name="old", age_hours=1)
    new = make_evaluation(new_predictions, name="new")
    EvaluationRepository(store.database).add(old, old_predictions)
    with pytest.raises(NotFoundError, match="newer than the baseline"):
        newest_successor(store, old)
    EvaluationRepository(store.database).add(new, new_predictions)
    assert newest_successor(store, old) == new
    set_baseline(store, "main", old, GateRule(protected_items=("item-9",)))
    baseline = named_baseline(store, "main")
    assert baseline == GateBaseline("main", old, GateRule(protected_items=("item-9",)))
    verdict = check_gate(store, new, baseline)
    assert [reason.split(" of ")[0] for reason in verdict.reasons] == ["significant loss"]
    lenient = check_gate(store, new, baseline, RuleChanges(alpha=0.001, protected_items=("item-8",)))
    assert lenient.passed
    assert lenient.rule.protected_items == ("item-9", "item-8")
