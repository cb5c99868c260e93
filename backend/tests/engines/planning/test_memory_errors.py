"""Out-of-memory errors cite the plan and the flag that helps."""

import pytest
from support.recipes import make_recipe

from tunix_rt.engines.planning.fixes import insufficient_memory_error, out_of_memory_error, with_advice
from tunix_rt.engines.planning.planner import PlanQuestion, estimated_plan
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.weights.sources import resolve_model

RECIPE = make_recipe(**{"training.batch_size": 12, "training.gradient_accumulation_steps": 2})
EXHAUSTED = RuntimeError("Out of memory allocating 9 bytes.\nmore")


def question(target: str) -> PlanQuestion:
    architecture = resolve_model(RECIPE.model, needs_weights=False).architecture
    return PlanQuestion(RECIPE, architecture, find_target(target), Workload(num_steps=3))


def make_plan(**changes: object) -> Plan:
    return estimated_plan(question("h200")).model_copy(update=changes)


def test_out_of_memory_error_cites_plan() -> None:
    plan = make_plan(per_device_bytes=2 * 2**30, limit_bytes=3 * 2**30)
    error = out_of_memory_error(plan, RECIPE, EXHAUSTED, saved_steps=[4, 8])
    assert error.exit_code == 5
    assert "Planned: 2.00 GiB of 3.00 GiB per device (estimated)" in error.detail
    assert "Out of memory allocating 9 bytes." in error.detail
    assert "more" not in error.detail
    assert "newest checkpoint is of step 8" in error.detail
    assert "--force" in error.next_step


@pytest.mark.parametrize(("num_micro_batches", "suggested"), [(1, 2), (2, 3), (4, 6), (6, 12)])
def test_suggests_smaller_micro_batches(num_micro_batches: int, suggested: int) -> None:
    recipe = make_recipe(
        **{"training.batch_size": 12, "training.gradient_accumulation_steps": num_micro_batches}
    )
    error = out_of_memory_error(make_plan(), recipe, EXHAUSTED, saved_steps=[])
    assert f"--resume --set training.gradient_accumulation_steps={suggested}:" in error.next_step


def test_single_rows_are_not_split() -> None:
    recipe = make_recipe(**{"training.batch_size": 12, "training.gradient_accumulation_steps": 12})
    error = out_of_memory_error(make_plan(), recipe, EXHAUSTED, saved_steps=[])
    assert "gradient_accumulation_steps" not in error.next_step


def test_oversized_plan_suggests_fitting_change() -> None:
    plan = with_advice(estimated_plan(question("t4")), question("t4"))
    assert not plan.fits
    assert plan.fixes
    assert plan.fixes[0].change in insufficient_memory_error(plan, plan.reason).next_step
