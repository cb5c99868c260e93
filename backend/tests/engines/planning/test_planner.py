"""Plans are complete, add up, explain themselves and need no accelerator library."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.recipes import SEED_KEYS, make_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import GIB, TARGETS, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.recipes.types import Recipe


def fast_plan(recipe: Recipe, target: str, session_seconds: float | None = None) -> Plan:
    options = PlanOptions(is_fast=True, session_seconds=session_seconds)
    return plan_recipe(Settings(), recipe, find_target(target), options, PlanProgress())


SEED = make_recipe(**SEED_KEYS)


def test_oversized_plan_explains_its_memory() -> None:
    """The seed recipe needs 28 GiB on a chip of 15.75 GiB."""
    plan = fast_plan(SEED, "v5e-8")
    assert not plan.fits
    assert plan.per_device_bytes == pytest.approx(28.0 * GIB, rel=0.05)
    assert plan.limit_bytes == 15.75 * GIB
    for cause in ("AdamW state", "undonated copies", "1 of 8 devices used"):
        assert cause in plan.reason


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["full", "lora", "qlora"])
def test_components_add_up_on_every_target(target: str, mode: str) -> None:
    plan = fast_plan(make_recipe(**{"training.mode": mode}), target)
    assert sum(plan.components.values()) == plan.per_device_bytes
    assert plan.fits == (plan.per_device_bytes <= plan.limit_bytes)
    assert plan.step_seconds > 0


def test_oversized_plan_suggests_fitting_changes() -> None:
    plan = fast_plan(SEED, "v5e-8")
    assert len(plan.fixes) >= 3
    assert all(fix.per_device_bytes <= plan.limit_bytes for fix in plan.fixes)
    assert all(fix.change.startswith("--set ") and fix.cost for fix in plan.fixes)


def test_fitting_plan_suggests_nothing() -> None:
    assert fast_plan(make_recipe(), "h200").fixes == ()


def test_total_time_is_compared_with_session() -> None:
    plan = fast_plan(make_recipe(), "v5e-8", session_seconds=1.0)
    assert plan.total_seconds == pytest.approx(100 * plan.step_seconds)
    assert plan.fits_session is False
    assert fast_plan(make_recipe(), "v5e-8", session_seconds=1e9).fits_session is True


def test_unknown_dataset_has_no_total_time() -> None:
    recipe = make_recipe(**{"training.num_steps": None, "training.num_epochs": 2})
    plan = fast_plan(recipe, "v5e-8")
    assert plan.total_seconds is None
    assert any("--dataset" in assumption for assumption in plan.assumptions)


def test_dataset_epochs_become_steps() -> None:
    recipe = make_recipe(
        "tiny-gemma",
        **{
            "data.dataset": "dev-reasoning-v2",
            "data.row_length": 2048,
            "training.num_steps": None,
            "training.num_epochs": 2,
        },
    )
    plan = fast_plan(recipe, "v5e-8")
    assert plan.num_steps is not None
    assert plan.num_steps % 2 == 0
    assert any("batches per epoch" in assumption for assumption in plan.assumptions)


def test_missing_tokenizer_is_an_assumption() -> None:
    recipe = make_recipe(
        **{"data.dataset": "dev-reasoning-v2", "training.num_steps": None, "training.num_epochs": 1}
    )
    plan = fast_plan(recipe, "v5e-8")
    assert plan.num_steps is not None
    assert any("tokenizer is not on this machine" in assumption for assumption in plan.assumptions)


def test_indivisible_batch_size_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="batch_size 6"):
        fast_plan(make_recipe(**{"training.batch_size": 6}), "v5e-8")


def test_card_without_bfloat16_gets_note() -> None:
    plan = fast_plan(make_recipe(**{"training.mode": "lora"}), "t4")
    assert any("no bfloat16" in note for note in plan.notes)


def test_planning_imports_no_accelerator_library() -> None:
    program = (
        "import sys, tunix_rt.engines.planning.service, tunix_rt.engines.commands;"
        "sys.exit(bool({'jax', 'torch', 'optax', 'libtpu'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent).returncode == 0
