"""Suggested changes give valid recipes that fit; they are minimal and ranked."""

import shlex
from pathlib import Path

import pytest
from support.recipes import SEED_KEYS, make_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.fixes import FixedRecipe, changed_recipe, find_fixes, possible_changes
from tunix_rt.engines.planning.memory import estimate_components
from tunix_rt.engines.planning.planner import PlanQuestion
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Workload
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe

LARGE = make_recipe(**{"data.row_length": 4096, "training.batch_size": 64})


def fixes_of(recipe: Recipe, target: str, workload: Workload = Workload()) -> list[FixedRecipe]:  # noqa: B008
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    return find_fixes(PlanQuestion(recipe, architecture, find_target(target), workload))


@pytest.mark.parametrize(
    ("recipe", "target"),
    [(make_recipe(**SEED_KEYS), "v5e-8"), (LARGE, "v5e-1"), (LARGE, "rtx4090"), (make_recipe(), "t4")],
)
def test_suggestions_parse_and_fit(recipe: Recipe, target: str, tmp_path: Path) -> None:
    file = tmp_path / "recipe.json"
    file.write_text(recipe.model_dump_json(), encoding="utf-8")
    fixes = fixes_of(recipe, target)
    assert len(fixes) >= 3
    for fixed in fixes:
        words = shlex.split(fixed.fix.change)
        assert set(words[::2]) == {"--set"}
        assert load_recipe(file, sets=words[1::2]).recipe == fixed.recipe
        architecture = resolve_model(recipe.model, needs_weights=False).architecture
        step = step_shape(fixed.recipe, architecture, find_target(target))
        assert sum(estimate_components(step).values()) == fixed.fix.per_device_bytes
        assert fixed.fix.per_device_bytes <= find_target(target).memory_bytes


def test_suggestions_are_ranked() -> None:
    """Changes that affect training less come first."""
    ranks = [fixed.rank for fixed in fixes_of(LARGE, "v5e-1")]
    assert ranks == sorted(ranks)


def test_no_suggestion_contains_another() -> None:
    kinds = [fixed.kinds for fixed in fixes_of(make_recipe(**SEED_KEYS), "v5e-8")]
    assert not any(a < b for a in kinds for b in kinds)


def test_row_length_covers_longest_example() -> None:
    """Rows are shortened only if the longest example is known."""
    target = find_target("v5e-1")
    unknown = possible_changes(LARGE, target, Workload())
    assert "row length" not in {change.kind for change in unknown}
    [known] = [
        change
        for change in possible_changes(LARGE, target, Workload(longest_example=700))
        if change.kind == "row length"
    ]
    assert known.values == {"data.row_length": 768}


def test_bfloat16_weights_use_stochastic_rounding() -> None:
    changes = {change.kind: change for change in possible_changes(LARGE, find_target("t4"), Workload())}
    changed = changed_recipe(LARGE, changes["weights"].values)
    assert changed.training.precision.stochastic_rounding


def test_applied_changes_are_not_suggested() -> None:
    recipe = make_recipe(**{"training.mode": "qlora", "training.precision.weights": "bfloat16"})
    kinds = {change.kind for change in possible_changes(recipe, find_target("h200"), Workload())}
    assert not kinds & {"donation", "remat", "lora", "qlora", "weights", "devices"}


def test_invalid_block_size_suggests_valid_one() -> None:
    recipe = make_recipe("tiny-gemma", **{"model.weights": "random", "training.mode": "qlora"})
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    with pytest.raises(InvalidInputError, match=r"block_size 64 .* 96 inputs of .*Set it to 32"):
        step_shape(recipe, architecture, find_target("t4"))
