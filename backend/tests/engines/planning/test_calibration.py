"""The estimate is held against what compilers said about the same steps, and what a GPU did."""

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
def test_the_estimate_is_within_a_tenth_of_the_compiled_figure(case: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(case))
    assert estimate.per_device_bytes == pytest.approx(case["compiled"]["total_bytes"], rel=0.10)


@each_case
def test_what_is_stored_is_counted_exactly(case: dict[str, Any]) -> None:
    question = question_of(case)
    components = estimate_components(step_shape(question.recipe, question.architecture, question.target))
    stored = case["compiled"]["stored"]
    # Norms are copied to every device, the estimate shares them out: a fraction of a percent.
    assert components["weights"] == pytest.approx(stored["weights"], rel=0.01)
    assert components["optimizer_state"] == pytest.approx(stored["optimizer_state"], rel=0.01, abs=2**20)


@each_case
def test_a_compiled_plan_adds_up_to_what_the_compiler_said(case: dict[str, Any]) -> None:
    plan = plan_of(case)
    assert plan.source == "compiled"
    assert plan.per_device_bytes == sum(plan.components.values()) == case["compiled"]["total_bytes"]
    assert all(size >= 0 for size in plan.components.values())


def test_every_verdict_of_the_estimate_is_that_of_the_compiler() -> None:
    cases = compiled_cases().values()
    assert [estimated_plan(question_of(case)).fits for case in cases] == [
        plan_of(case).fits for case in cases
    ]


each_measured_step = pytest.mark.parametrize(
    "step", [pytest.param(step, id=name) for name, step in measured_steps().items()]
)


@each_measured_step
def test_the_estimate_is_within_a_tenth_of_what_a_gpu_used(step: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(step))
    assert estimate.per_device_bytes == pytest.approx(step["peak_gib"] * GIB, rel=0.10)


@each_measured_step
def test_the_step_time_is_near_what_a_gpu_took(step: dict[str, Any]) -> None:
    if "tokens_per_s" in step:
        plan = estimated_plan(question_of(step))
        assert plan.tokens_per_step / plan.step_seconds == pytest.approx(step["tokens_per_s"], rel=0.15)
