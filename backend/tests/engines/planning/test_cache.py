"""A compiled figure is kept for the same step and forgotten for any other."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.recipes import make_recipe

from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.compile import (
    CompiledStep,
    CompileRequest,
    StoredBytes,
    cache_step,
    cached_step,
    compiler_versions,
)
from tunix_rt.engines.planning.fixes import find_fixes
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Workload
from tunix_rt.engines.weights.sources import resolve_model

STEP = CompiledStep(
    fits=True,
    total_bytes=7,
    stored=StoredBytes(weights=1, optimizer_state=2, batch=3),
    attention="dense, the recipe asks for it",
    compile_seconds=1.0,
    compiler=compiler_versions(),
)


def request_of(**keys: object) -> CompileRequest:
    recipe = make_recipe("tiny-gemma", **keys)
    config = dict(resolve_model(recipe.model, needs_weights=False).config)
    return CompileRequest(
        recipe=recipe, architecture_config=config, platform="cpu", num_devices=1, topology=None
    )


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    assert cached_step(tmp_path, request_of()) is None
    cache_step(tmp_path, request_of(), STEP)
    assert cached_step(tmp_path, request_of()) == STEP


@pytest.mark.parametrize(
    ("key", "value", "is_same"),
    [
        ("training.seed", 7, True),
        ("training.num_steps", 7, True),
        ("output.save_every_steps", 7, True),
        ("data.dataset", "mine-v1", True),
        ("data.row_length", 256, False),
        ("training.batch_size", 16, False),
        ("training.remat", "none", False),
        ("training.optimizer", "adafactor", False),
        ("training.mode", "lora", False),
        ("sharding.tensor", 2, False),
    ],
)
def test_only_keys_that_shape_the_step_make_it_another(
    tmp_path: Path, key: str, value: object, is_same: bool
) -> None:
    cache_step(tmp_path, request_of(), STEP)
    assert (cached_step(tmp_path, request_of(**{key: value})) is not None) == is_same


def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    cache_step(tmp_path, request_of(), STEP)
    [file] = tmp_path.iterdir()
    file.write_text('{"fits": tr')
    assert cached_step(tmp_path, request_of()) is None


def test_verified_changes_carry_the_compilers_figure_and_those_that_do_not_fit_are_dropped(
    tmp_path: Path,
) -> None:
    settings, small = Settings(home=tmp_path), replace(find_target("cpu"), memory_bytes=11_000_000)
    asked = request_of(**{"training.donate_buffers": False, "data.row_length": 64})
    architecture = resolve_model(asked.recipe.model, needs_weights=False).architecture
    cache_step(settings.plans_dir, asked, STEP.model_copy(update={"total_bytes": 20_000_000}))
    kept, *dropped = find_fixes(asked.recipe, architecture, small, Workload())
    for fixed, total_bytes in [(kept, 10_000_000), *((fixed, 12_000_000) for fixed in dropped)]:
        request = asked.model_copy(update={"recipe": fixed.recipe})
        cache_step(settings.plans_dir, request, STEP.model_copy(update={"total_bytes": total_bytes}))

    options = PlanOptions(verifies_fixes=True)
    plan = plan_recipe(settings, asked.recipe, small, options, PlanProgress())

    assert dropped
    assert [(fix.change, fix.source, fix.per_device_bytes) for fix in plan.fixes] == [
        (kept.fix.change, "compiled", 10_000_000)
    ]
