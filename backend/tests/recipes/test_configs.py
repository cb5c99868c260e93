"""Every shipped recipe loads, names its target and fits it."""

import re
from pathlib import Path

import pytest

from tunix_rt.base.assets import shipped_recipe_names, shipped_recipe_path
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import TARGET_NAMES, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.recipes.load import load_recipe

ROOT = Path(__file__).parents[3]
CONFIGS = sorted((ROOT / "training" / "configs").iterdir())
DOES_NOT_FIT = {"seed_m38_tpu.yaml"}
REQUIRED_RECIPES = {
    "demo.yaml",
    "seed_m38_tpu.yaml",
    "smoke_tiny.yaml",
    "submission_gemma2_2b.yaml",
    "submission_gemma3_1b.yaml",
    "submission_gemma_flax.yaml",
    "submission_local_gpu.yaml",
    "submission_tpu.yaml",
}

each_config = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)


def target_of(path: Path) -> str:
    """Return the target named in the second line of a recipe."""
    found = re.fullmatch(r"# Target: (\S+)", path.read_text(encoding="utf-8").splitlines()[1])
    assert found is not None, f"{path.name} does not name its target"
    return found[1]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Plan]:
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    options = PlanOptions(is_fast=True, online=False)
    planned = {}
    for path in CONFIGS:
        recipe, target = load_recipe(path).recipe, find_target(target_of(path))
        planned[path] = plan_recipe(settings, recipe, target, options, PlanProgress())
    return planned


def test_required_recipes_are_shipped() -> None:
    assert {path.name for path in CONFIGS} >= REQUIRED_RECIPES


@each_config
def test_recipe_names_known_target(path: Path) -> None:
    assert target_of(path) in TARGET_NAMES


@each_config
def test_recipe_is_documented(path: Path) -> None:
    assert f"(../training/configs/{path.name})" in (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")


@each_config
def test_recipe_fits_its_target(path: Path, plans: dict[Path, Plan]) -> None:
    assert plans[path].fits == (path.name not in DOES_NOT_FIT), plans[path].reason


@each_config
def test_warmup_and_eval_fit_schedule(path: Path, plans: dict[Path, Plan]) -> None:
    recipe, num_steps = load_recipe(path).recipe, plans[path].num_steps
    assert num_steps is not None
    assert recipe.training.warmup_steps < num_steps / 2
    assert (recipe.eval.every_steps or 0) <= num_steps


@each_config
def test_package_contains_recipe_file(path: Path) -> None:
    assert shipped_recipe_path(path.stem).read_bytes() == path.read_bytes()


def test_package_lists_all_recipes() -> None:
    assert shipped_recipe_names() == [path.stem for path in CONFIGS]
