"""A real sweep: the command line, a worker process, real training runs and the registry."""

import json
from pathlib import Path

import pytest
import yaml
from support.sweeps import LEARNING_RATE, RECIPE, with_rows
from typer.testing import CliRunner

from tunix_rt.base.home import Home
from tunix_rt.cli.main import app
from tunix_rt.models.find import resolve
from tunix_rt.recipes.load import load_recipe
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.sweeps.service import promote_best
from tunix_rt.sweeps.store import SweepRepository

SWEEP = {
    "name": "rates",
    "recipe": RECIPE,
    "overrides": ["training.num_steps=2"],
    "search_space": {"training.learning_rate": LEARNING_RATE},
    "metric": "loss",
    "budget": {"num_trials": 2},
    "device": "cpu",
    "engine": "jax",
}


@pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
def test_sweep_trains_and_registers_best(store: Home, tmp_path: Path) -> None:
    with_rows(store)
    path = tmp_path / "sweep.yaml"
    path.write_text(yaml.safe_dump(SWEEP), encoding="utf-8")
    result = CliRunner().invoke(app, ["tune", str(path), "--json"], env={"OMP_NUM_THREADS": "1"})
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)

    sweep = SweepRepository(store.database).get(printed["sweep_id"])
    assert sweep.status == "succeeded"
    assert [trial.status for trial in sweep.trials] == ["succeeded"] * 2
    for trial in sweep.trials:
        run = RunRepository(store.database).get(trial.run_id)
        assert run.figures is not None
        assert run.figures.final_loss == trial.value
        assert run.num_attempts == 1

    assert sweep.best is not None
    recipe = load_recipe(Path(printed["recipe_file"])).recipe
    assert recipe.training.learning_rate == sweep.best.params["training.learning_rate"]
    version = promote_best(store, sweep, "rates", alias="champion")
    assert version.lineage.run_id == sweep.best.run_id
    assert resolve(store, "rates@champion").id == version.id
