"""Estimates against the compiled sizes of the same steps and against measurements on a GPU."""

from typing import Any

import pytest
from support.planning_page import compiled_cases, measured_steps, plan_of, question_of

from tunix_rt.engines.planning.memory import estimate_components
from tunix_rt.engines.planning.planner import estimated_plan
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import GIB

each_case = pytest.mark.parametrize(
    "case", [pytest.param(case, id=n) for n, case in compiled_cases().items()]
)


@each_case
def test_estimate_is_near_compiled_size(case: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(case))
    assert estimate.per_device_bytes == pytest.approx(case["compiled"]["total_bytes"], rel=0.10)


@each_case
def test_stored_bytes_match_compiler(case: dict[str, Any]) -> None:
    question = question_of(case)
    components = estimate_components(step_shape(question.recipe, question.architecture, question.target))
    stored = case["compiled"]["stored"]
    # Norms are replicated on every device; the estimate shards them, so it is off by a fraction of a percent.
    assert components["weights"] == pytest.approx(stored["weights"], rel=0.01)
    assert components["optimizer_state"] == pytest.approx(stored["optimizer_state"], rel=0.01, abs=2**20)


@each_case
def test_compiled_plan_components_add_up(case: dict[str, Any]) -> None:
    plan = plan_of(case)
    assert plan.source == "compiled"
    assert plan.per_device_bytes == sum(plan.components.values()) == case["compiled"]["total_bytes"]
    assert all(size >= 0 for size in plan.components.values())


def test_estimated_and_compiled_verdicts_agree() -> None:
    cases = compiled_cases().values()
    assert [estimated_plan(question_of(case)).fits for case in cases] == [
        plan_of(case).fits for case in cases
    ]


@pytest.mark.parametrize("step", [pytest.param(step, id=name) for name, step in measured_steps().items()])
def test_estimate_is_near_measured_memory(step: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(step))
    assert estimate.per_device_bytes == pytest.approx(step["peak_gib"] * GIB, rel=0.10)


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, id=name) for name, step in measured_steps().items() if "tokens_per_s" in step],
)
def test_step_time_is_near_measurement(step: dict[str, Any]) -> None:
    plan = estimated_plan(question_of(step))
    assert plan.tokens_per_step / plan.step_seconds == pytest.approx(step["tokens_per_s"], rel=0.15)
