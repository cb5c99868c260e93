"""The tables of docs/training-modes.md: compiled and estimated memory of the shipped recipes."""

import json
from pathlib import Path
from typing import Any

from support.planning_page import compiled_cases, plan_of, table_text
from tunix_rt.base.assets import shipped_recipe_names, shipped_recipe_path
from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.compile import CompiledStep
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, estimated_plan
from tunix_rt.engines.planning.targets import GIB, find_target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import load_recipe
from tunix_rt.recipes.types import Recipe

CHIPS = ("v5e-1", "v5e-8")
GPUS = ("t4", "rtx4090", "rtx5090", "h200")
SEED_STEPS = (
    "the seeds' step: adamw bf16, one chip, nothing donated",
    "the same, donated",
    "the same, donated, adafactor",
    "gemma-2b adafactor f32 512 x 8",
)
_FILE = Path(__file__).parents[3] / "benchmarks" / "results" / "compiled_recipes.json"


def compiled_recipes() -> dict[str, dict[str, Any]]:
    """Return the compiler output by recipe and target, from `python -m benchmarks.compile_recipes`."""
    recipes: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return recipes


def tpu_table() -> str:
    """Return the memory of every recipe on one and on eight TPU chips."""
    known = compiled_recipes()
    rows = []
    for name in shipped_recipe_names():
        recipe = shipped(name)
        figures = [_on_chips(recipe, target, known.get(name, {}).get(target)) for target in CHIPS]
        rows.append((f"`{name}`", _description(recipe), *figures))
    return table_text(("recipe", "trains", *(f"GiB per chip on {target}" for target in CHIPS)), rows)


def gpu_table() -> str:
    """Return the estimated memory of every recipe on some GPUs."""
    rows = [
        (f"`{name}`", *(_figure(_estimate(shipped(name), gpu)) for gpu in GPUS))
        for name in shipped_recipe_names()
    ]
    limits = [f"{gpu} ({find_target(gpu).memory_bytes / GIB:.1f})" for gpu in GPUS]
    return table_text(("recipe", *limits), rows)


def seed_table() -> str:
    """Return the step that did not fit, with one fix after the other."""
    cases = compiled_cases()
    plans = {name: plan_of(cases[name]) for name in SEED_STEPS}
    return table_text(
        ("step", "chips", "GiB per chip", "limit", "verdict"),
        [
            (
                name,
                str(plan.num_devices),
                f"{plan.per_device_bytes / GIB:.2f}",
                f"{plan.limit_bytes / GIB:.2f}",
                "fits" if plan.fits else "**does not fit**",
            )
            for name, plan in plans.items()
        ],
    )


def shipped(name: str) -> Recipe:
    """Load a shipped recipe."""
    return load_recipe(shipped_recipe_path(name)).recipe


def _on_chips(recipe: Recipe, target: str, case: dict[str, Any] | None) -> str:
    if case is None or "refused" in case:
        plan = _estimate(recipe, target)
        return _figure(plan) if plan is None else f"{_figure(plan)}, estimated"
    assert case["recipe"] == recipe.model_dump(mode="json"), "run python -m benchmarks.compile_recipes"
    return _figure(compiled_plan(_question(recipe, target), CompiledStep.model_validate(case["compiled"])))


def _estimate(recipe: Recipe, target: str) -> Plan | None:
    """Return None if the rows of a batch cannot be split over the devices."""
    try:
        return estimated_plan(_question(recipe, target))
    except InvalidInputError:
        return None


def _question(recipe: Recipe, target: str) -> PlanQuestion:
    architecture = resolve_model(recipe.model, online=False, needs_weights=False).architecture
    return PlanQuestion(recipe, architecture, find_target(target), Workload())


def _figure(plan: Plan | None) -> str:
    if plan is None:
        return "needs a batch of 8"
    size = f"{plan.per_device_bytes / GIB:.2f}"
    return size if plan.fits else f"**{size}, does not fit**"


def _description(recipe: Recipe) -> str:
    rows = f"{recipe.data.row_length} x {recipe.training.batch_size}"
    return f"{recipe.model.name}, {recipe.training.mode}, {recipe.training.optimizer.name}, {rows}"
