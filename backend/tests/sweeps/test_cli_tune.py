"""The `tunix-rt tune` commands."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from support.sweeps import rate_of, started, statuses, train_next, with_rows
from typer.testing import CliRunner

from tunix_rt.base.errors import MissingExtraError, TunixRTError
from tunix_rt.base.home import Home
from tunix_rt.cli.main import app
from tunix_rt.recipes.load import load_recipe
from tunix_rt.sweeps.advance import advance, advance_all
from tunix_rt.sweeps.commands import progress_table, trial_line, trials_text
from tunix_rt.sweeps.create import create, load_sweep
from tunix_rt.sweeps.store import SweepRepository

SWEEPS = Path(__file__).parents[3] / "training" / "sweeps"
pytestmark = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)


def run(*arguments: str | Path, exit_code: int = 0) -> str:
    """Return the output of a command, or the text of its error."""
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)], env={"COLUMNS": "200"})
    if isinstance(result.exception, TunixRTError):
        assert result.exception.exit_code == exit_code, result.exception
        return str(result.exception)
    assert result.exit_code == exit_code, result.output
    return result.stdout


def run_sweep(store: Home, num_trials: int = 4) -> str:
    sweep_id = started(store, budget={"num_trials": num_trials})
    while advance(store, sweep_id):
        train_next(store, rate_of)
    return sweep_id


def sweep_file(tmp_path: Path, store: Home) -> Path:
    with_rows(store)
    values = {
        "name": "sizes",
        "recipe": "smoke_tiny",
        "dataset": "demo-v1",
        "overrides": ["eval.every_steps=null", "eval.max_batches=null"],
        "search_space": {"training.batch_size": {"type": "choice", "values": [2, 4]}},
        "sampler": "grid",
        "metric": "loss",
    }
    path = tmp_path / "sweep.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_detached_sweep_is_started(store: Home, tmp_path: Path) -> None:
    printed = json.loads(run(sweep_file(tmp_path, store), "--detach", "--json"))
    assert printed["status"] == "running"
    assert SweepRepository(store.database).active() == (printed["sweep_id"],)
    assert SweepRepository(store.database).get(printed["sweep_id"]).spec.max_trials == 2
    assert "sizes" in run("list")


def test_show_prints_best_and_importances(store: Home) -> None:
    sweep_id = run_sweep(store)
    shown = run("show", sweep_id)
    best = SweepRepository(store.database).get(sweep_id).best
    assert best is not None
    assert f"succeeded: {sweep_id}, 4 of 4 trials by loss" in shown
    assert "training.learning_rate  100%" in shown
    assert f"best     trial {best.number}" in shown
    assert json.loads(run("show", "rates", "--json"))["importances"]


def test_best_writes_the_recipe(store: Home, tmp_path: Path) -> None:
    sweep_id = run_sweep(store, num_trials=2)
    path = tmp_path / "best.yaml"
    assert str(path) in run("best", sweep_id, "--output", path)
    best = SweepRepository(store.database).get(sweep_id).best
    assert best is not None
    assert load_recipe(path).recipe.training.learning_rate == best.params["training.learning_rate"]
    assert f"the sweep {sweep_id}" in path.read_text(encoding="utf-8").splitlines()[0]
    assert "--register NAME" in run("best", sweep_id, "--alias", "champion", exit_code=2)


def test_cancel_resume_and_remove(store: Home) -> None:
    sweep_id = started(store)
    advance(store, sweep_id)
    assert run("rm", sweep_id, exit_code=2).startswith(f"The sweep {sweep_id} is running")
    assert run("cancel", sweep_id) == f"cancelling: {sweep_id}\n"
    advance(store, sweep_id)
    assert statuses(store, sweep_id) == ["cancelled"]
    assert json.loads(run("resume", sweep_id, "--detach", "--json"))["status"] == "running"
    run("cancel", sweep_id)
    advance(store, sweep_id)
    assert run("rm", sweep_id) == f"Removed {sweep_id}; its runs stay.\n"
    assert "There are no sweeps yet" in run("list")


def test_best_requires_a_succeeded_trial(store: Home) -> None:
    sweep_id = started(store)
    assert "No trial of the sweep" in run("best", sweep_id, exit_code=2)


def test_ambiguous_and_unknown_names_are_refused(store: Home) -> None:
    first, second = started(store), started(store)
    assert f"'rates' matches 2 sweeps: {second}, {first}." in run("show", "rates", exit_code=2)
    assert "There is no sweep 'nowhere'" in run("show", "nowhere", exit_code=2)


def test_progress_as_table_and_lines(store: Home) -> None:
    sweep = SweepRepository(store.database).get(run_sweep(store, num_trials=2))
    assert trials_text(sweep) == "2 of 2"
    assert trial_line(sweep, sweep.trials[0]).startswith("trial 0 succeeded: loss ")
    assert progress_table(sweep).row_count == 2


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.yaml")), ids=lambda path: path.name)
def test_shipped_sweeps_can_be_created(store: Home, path: Path) -> None:
    assert create(store, load_sweep(path)).status == "queued"


def test_missing_optuna_names_the_extra(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep_id = started(store)
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tunix-rt\[tune\]'"):
        create(store, SweepRepository(store.database).get(sweep_id).spec)
    assert "tunix-rt[tune]" in run("show", sweep_id, exit_code=2)
    advance_all(store, "worker-a")
    assert statuses(store, sweep_id) == []
