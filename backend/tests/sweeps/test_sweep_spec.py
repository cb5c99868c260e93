"""Parsing and validation of sweep files."""

from pathlib import Path
from typing import Any

import pytest
from support.sweeps import LEARNING_RATE, make_spec

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.sweeps.create import as_override, load_sweep, parse_sweep, probes
from tunix_rt.sweeps.types import Budget, SweepSpec, num_grid_points

SWEEP = """
name: rates
recipe: smoke_tiny
search_space:
  training.learning_rate: {type: loguniform, min: 1e-4, max: 1e-2}
  training.batch_size: {type: choice, values: [2, 4]}
budget: {num_trials: 8}
"""


def load(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return load_sweep(path)


def test_sweep_file_is_parsed(tmp_path: Path) -> None:
    spec = load(tmp_path, SWEEP)
    assert spec.search_space["training.learning_rate"].ends() == (1e-4, 1e-2)
    assert spec.budget.num_trials == 8
    assert (spec.metric, spec.goal) == ("validation_loss", "minimize")


def test_recipe_path_is_relative_to_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("model: {name: tiny-llama}\n", encoding="utf-8")
    spec = load(tmp_path, SWEEP.replace("smoke_tiny", "mine.yaml"))
    assert spec.recipe == {"model": {"name": "tiny-llama"}}


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"nowhere\.yaml"):
        load_sweep(tmp_path / "nowhere.yaml")


def test_non_mapping_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="search_space and budget"):
        load(tmp_path, "- 1\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("budgets: {num_trials: 8}", "budgets is not a key. Did you mean 'budget'?"),
        ("metric: accuracy", "metric: "),
        ("metric: score", "the metric score needs an eval_set"),
        ("direction: maximize", "validation_loss can only be minimized"),
        ("prune_after_percent: 20", "prune_after_percent needs a pruner"),
        ("pruner: hyperband\nprune_after_trials: 2", "prune_after_trials is a key of the pruner median"),
        ("metric: score\neval_set: eval_v2\npruner: median", "it cannot prune"),
        ("sampler: grid", "a grid needs choice or randint"),
        ("name: Rates", "name: "),
    ],
)
def test_invalid_sweep_is_refused(tmp_path: Path, change: str, message: str) -> None:
    text = SWEEP.replace("name: rates\n", "") + change if change.startswith("name") else SWEEP + change
    with pytest.raises(InvalidInputError) as refused:
        load(tmp_path, text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ({"type": "uniform", "min": 2, "max": 1}, "min must be below max"),
        ({"type": "loguniform", "min": 0, "max": 1}, "greater than 0"),
        ({"type": "choice", "values": [1, 1]}, "names a value twice"),
        ({"type": "choice", "values": []}, "at least 1 item"),
        ({"type": "normal", "mean": 1}, "'choice', 'uniform'"),
        ({"type": "uniform", "min": 1, "max": float("inf")}, "finite"),
    ],
)
def test_invalid_search_space_is_refused(parameter: dict[str, Any], message: str) -> None:
    values = {"name": "rates", "recipe": "demo", "budget": {"num_trials": 1}}
    space = {"training.learning_rate": parameter}
    with pytest.raises(InvalidInputError, match=message):
        parse_sweep(values | {"search_space": space}, what="the sweep")


@pytest.mark.parametrize(
    ("key", "suggestion"),
    [
        ("training.learning_ratee", "did you mean training.learning_rate?"),
        ("learning_rate", "did you mean training.learning_rate?"),
        ("per_device_batch_size", "did you mean training.batch_size?"),
    ],
)
def test_unknown_key_suggests_nearest(key: str, suggestion: str) -> None:
    values = {"name": "rates", "recipe": "demo", "budget": {"num_trials": 1}}
    with pytest.raises(InvalidInputError) as refused:
        parse_sweep(values | {"search_space": {key: LEARNING_RATE}}, what="the sweep")
    assert suggestion in str(refused.value)


def test_key_cannot_be_searched_and_fixed() -> None:
    fixed = {"overrides": ["training.learning_rate=1e-3"]}
    values = make_spec().model_dump(mode="json", exclude_unset=True) | fixed
    with pytest.raises(InvalidInputError, match="both searched and fixed"):
        parse_sweep(values, what="the sweep")


def test_grid_size_limits_trials() -> None:
    space = {
        "training.batch_size": {"type": "choice", "values": [2, 4]},
        "training.warmup_steps": {"type": "randint", "min": 0, "max": 2},
    }
    spec = make_spec(search_space=space, sampler="grid", budget={})
    assert num_grid_points(spec.search_space) == 6
    assert spec.max_trials == 6
    assert make_spec(search_space=space, sampler="grid", budget={"num_trials": 4}).max_trials == 4


def test_probes_cover_ends_and_choices() -> None:
    targets = {"type": "choice", "values": [["q", "v"], ["q"]]}
    spec = make_spec(search_space={"training.learning_rate": LEARNING_RATE, "lora.targets": targets})
    assert list(probes(spec)) == [
        ("training.learning_rate", 1e-4),
        ("training.learning_rate", 1e-2),
        ("lora.targets", ["q", "v"]),
        ("lora.targets", ["q"]),
    ]


def test_overrides_are_written_as_flags() -> None:
    assert as_override("lora.targets", ["q", "v"]) == 'lora.targets=["q", "v"]'
    assert as_override("training.learning_rate", 1e-5) == "training.learning_rate=1e-05"


def test_every_sweep_key_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    keys = [*SweepSpec.model_fields, *Budget.model_fields]
    assert [key for key in keys if f"`{key}`" not in page] == []
