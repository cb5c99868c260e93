"""Plans for the torch engine: its own component model, the other engine's planner around it."""

from typing import Any

import pytest
from support.planning_page import question_of, torch_measured_steps

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.engines.planning.fixes import find_fixes
from tunix_rt.engines.planning.memory import torch_calibration
from tunix_rt.engines.planning.planner import PlanQuestion, estimated_plan
from tunix_rt.engines.planning.targets import GIB
from tunix_rt.engines.planning.types import Plan

GEMMA = "google/gemma-2b"
NUM_PARAMETERS = 2_506_172_416
BF16 = {"weights": "bfloat16"}


def question(target: str = "h200", *, row_length: int = 1024, **training: Any) -> PlanQuestion:
    recipe = {
        "model": {"name": GEMMA, "weights": "random"},
        "data": {"row_length": row_length},
        "training": {"num_steps": 10, "batch_size": 4, **training},
    }
    return question_of({"recipe": recipe, "target": target, "engine": "torch"})


def plan(target: str = "h200", **training: Any) -> Plan:
    return estimated_plan(question(target, **training))


def test_components_add_up() -> None:
    made = plan()
    assert made.per_device_bytes == sum(made.components.values())
    assert made.source == "estimated"


def test_master_weights_and_moments_are_counted_exactly() -> None:
    components = plan().components
    assert components["weights"] == 4 * NUM_PARAMETERS
    assert components["optimizer_state"] == 8 * NUM_PARAMETERS
    assert components["undonated_copies"] == 0


def test_float32_weights_stand_beside_a_copy_that_computes() -> None:
    matrices = question().architecture.num_layers * 110_100_480
    with_copy = plan().components["temporaries"]
    without = plan(precision={"compute": "float32"}).components["temporaries"]
    assert with_copy - without >= 2 * matrices * 0.9


def test_frozen_matrices_are_held_in_the_format_that_computes() -> None:
    assert plan(mode="lora").components["weights"] < 2.6 * NUM_PARAMETERS
    assert plan(mode="qlora", precision=BF16).components["weights"] < 1.2 * NUM_PARAMETERS


@pytest.mark.parametrize(("less", "more"), [("block", "dots"), ("dots", "none")])
def test_keeping_more_for_the_backward_pass_needs_more(less: str, more: str) -> None:
    sizes = [plan(remat=remat, batch_size=16).per_device_bytes for remat in (less, more)]
    assert sizes[0] < sizes[1]


def test_all_logits_at_once_need_more() -> None:
    chunked, whole = (plan(mode="lora", precision=BF16, loss_chunk_tokens=size) for size in (512, None))
    assert whole.per_device_bytes - chunked.per_device_bytes > 4 * 3000 * 256_000


def test_a_card_without_measured_runs_is_a_prediction() -> None:
    notes = " ".join(plan("rtx5090", mode="lora").notes)
    assert "A prediction: no run on rtx5090 was measured" in notes
    assert torch_calibration().source in notes


def test_advice_is_estimated_with_the_same_model() -> None:
    asked = question("rtx4090")
    assert not estimated_plan(asked).fits
    fixes = find_fixes(asked)
    for fixed in fixes:
        again = PlanQuestion(fixed.recipe, asked.architecture, asked.target, asked.workload, engine="torch")
        assert estimated_plan(again).per_device_bytes == fixed.fix.per_device_bytes
    assert fixes


def test_a_tpu_is_left_to_the_other_engine() -> None:
    with pytest.raises(InvalidInputError, match=r"does not run on v5e-8.*--engine jax"):
        plan("v5e-8")


def test_a_card_without_bfloat16_must_compute_in_float32() -> None:
    with pytest.raises(InvalidInputError, match=r"Tesla T4 does not compute in bfloat16.*compute: float32"):
        plan("t4", mode="lora")
    assert plan("t4", mode="lora", precision={"compute": "float32", "weights": "bfloat16"})


def test_a_kernel_of_tpus_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="splash cannot be used"):
        plan(attention="splash")


@pytest.mark.parametrize(
    "step", [pytest.param(step, id=name) for name, step in torch_measured_steps().items()]
)
def test_the_estimate_is_within_a_tenth_of_what_a_gpu_used(step: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(step))
    if step["recipe"]["training"].get("loss_chunk_tokens", 0) is None:
        # How many tokens have logits is not known before: the plan counts all, the grid trained two thirds.
        assert estimate.per_device_bytes > step["peak_allocated_bytes"]
        return
    assert estimate.per_device_bytes / GIB == pytest.approx(step["peak_allocated_bytes"] / GIB, rel=0.10)
