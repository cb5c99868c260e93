"""Compiled steps are cached by step, code and compiler."""

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
    code_hash,
    compiler_versions,
)
from tunix_rt.engines.planning.fixes import find_fixes
from tunix_rt.engines.planning.planner import PlanQuestion
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


def make_request(**keys: object) -> CompileRequest:
    recipe = make_recipe("tiny-gemma", **keys)
    config = dict(resolve_model(recipe.model, needs_weights=False).config)
    return CompileRequest(
        recipe=recipe, architecture_config=config, platform="cpu", num_devices=1, topology=None
    )


def test_cached_step_is_returned(tmp_path: Path) -> None:
    assert cached_step(tmp_path, make_request()) is None
    cache_step(tmp_path, make_request(), STEP)
    assert cached_step(tmp_path, make_request()) == STEP


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
def test_only_step_keys_invalidate_cache(tmp_path: Path, key: str, value: object, is_same: bool) -> None:
    cache_step(tmp_path, make_request(), STEP)
    assert (cached_step(tmp_path, make_request(**{key: value})) is not None) == is_same


@pytest.mark.parametrize(
    "file", ["jax/training/step.py", "weights/nested/new.py", "planning/step.py", "types.py"]
)
def test_code_hash_covers_nested_files(tmp_path: Path, file: str) -> None:
    for name in ("jax/model/step.py", "jax/training/step.py", "torch/step.py", file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a = 1")
    before = code_hash(tmp_path)
    (tmp_path / "torch/step.py").write_text("a = 2")
    assert code_hash(tmp_path) == before
    (tmp_path / file).write_text("a = 2")
    assert code_hash(tmp_path) != before


def test_code_hash_changes_with_moved_files(tmp_path: Path) -> None:
    for directory, content in (("jax/model", "a = 1"), ("jax/training", "a = 2")):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "step.py").write_text(content)
    before = code_hash(tmp_path)
    (tmp_path / "jax/model/step.py").rename(tmp_path / "jax/other.py")
    (tmp_path / "jax/other.py").rename(tmp_path / "jax/step.py")
    assert code_hash(tmp_path) != before


def test_damaged_cache_file_is_ignored(tmp_path: Path) -> None:
    cache_step(tmp_path, make_request(), STEP)
    [file] = tmp_path.iterdir()
    file.write_text('{"fits": tr')
    assert cached_step(tmp_path, make_request()) is None


def test_verified_fixes_have_compiled_figures(tmp_path: Path) -> None:
    settings, small = Settings(home=tmp_path), replace(find_target("cpu"), memory_bytes=11_000_000)
    original = make_request(**{"training.donate_buffers": False, "data.row_length": 64})
    architecture = resolve_model(original.recipe.model, needs_weights=False).architecture
    cache_step(settings.plans_dir, original, STEP.model_copy(update={"total_bytes": 20_000_000}))
    kept, *dropped = find_fixes(PlanQuestion(original.recipe, architecture, small, Workload()))
    for fixed, total_bytes in [(kept, 10_000_000), *((fixed, 12_000_000) for fixed in dropped)]:
        request = original.model_copy(update={"recipe": fixed.recipe})
        cache_step(settings.plans_dir, request, STEP.model_copy(update={"total_bytes": total_bytes}))

    options = PlanOptions(verifies_fixes=True)
    plan = plan_recipe(settings, original.recipe, small, options, PlanProgress())

    assert dropped
    assert [(fix.change, fix.source, fix.per_device_bytes) for fix in plan.fixes] == [
        (kept.fix.change, "compiled", 10_000_000)
    ]
