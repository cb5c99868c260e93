"""`tunix-rt data gym`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.cli.main import app
from tunix_rt.datasets.evalsets import load_evalset
from tunix_rt.evaluation.scoring.evalset_report import validate_evalset


def test_task_becomes_valid_eval_set(tmp_path: Path) -> None:
    file = tmp_path / "sums.jsonl"
    arguments = ["data", "gym", "chain_sum", "--output", str(file), "--count", "20", "--set", "max_digits=1"]
    result = CliRunner().invoke(app, [*arguments, "--set", "min_digits=1"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Wrote 20 items")
    items = load_evalset(file)
    assert len(items) == 20
    assert all(item.task is not None and item.task.name == "chain_sum" for item in items)
    assert validate_evalset(file).is_valid


@pytest.mark.parametrize(
    ("option", "problem"), [("max_digit=1", "Its options are: .*max_digits"), ("max_digits", "KEY=VALUE")]
)
def test_invalid_task_options_are_rejected(tmp_path: Path, option: str, problem: str) -> None:
    file = tmp_path / "sums.jsonl"
    result = CliRunner().invoke(app, ["data", "gym", "chain_sum", "--output", str(file), "--set", option])
    assert isinstance(result.exception, InvalidInputError)
    with pytest.raises(InvalidInputError, match=problem):
        raise result.exception
    assert not file.exists()
