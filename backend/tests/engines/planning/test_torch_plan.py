"""Plans of the torch engine: its own memory model inside the shared planner."""

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
    default = plan()
    assert default.per_device_bytes == sum(default.components.values())
    assert default.source == "estimated"


def test_master_weights_and_moments_are_exact() -> None:
    components = plan().components
    assert components["weights"] == 4 * NUM_PARAMETERS
    assert components["optimizer_state"] == 8 * NUM_PARAMETERS
    assert components["undonated_copies"] == 0


def test_float32_weights_need_compute_copy() -> None:
    matrices = question().architecture.num_layers * 110_100_480
    with_copy = plan().components["temporaries"]
    without = plan(precision={"compute": "float32"}).components["temporaries"]
    assert with_copy - without >= 2 * matrices * 0.9


def test_frozen_weights_use_compute_format() -> None:
    assert plan(mode="lora").components["weights"] < 2.6 * NUM_PARAMETERS
    assert plan(mode="qlora", precision=BF16).components["weights"] < 1.2 * NUM_PARAMETERS


@pytest.mark.parametrize(("less", "more"), [("block", "dots"), ("dots", "none")])
def test_less_remat_needs_more_memory(less: str, more: str) -> None:
    sizes = [plan(remat=remat, batch_size=16).per_device_bytes for remat in (less, more)]
    assert sizes[0] < sizes[1]


def test_unchunked_loss_needs_more_memory() -> None:
    chunked, whole = (plan(mode="lora", precision=BF16, loss_chunk_tokens=size) for size in (512, None))
    assert whole.per_device_bytes - chunked.per_device_bytes > 4 * 3000 * 256_000


def test_unmeasured_card_is_a_prediction() -> None:
    notes = " ".join(plan("rtx5090", mode="lora").notes)
    assert "A prediction: no run on rtx5090 was measured" in notes
    assert torch_calibration().source in notes


def test_fixes_use_torch_estimate() -> None:
    oversized = question("rtx4090")
    assert not estimated_plan(oversized).fits
    fixes = find_fixes(oversized)
    for fixed in fixes:
        again = PlanQuestion(
            fixed.recipe, oversized.architecture, oversized.target, oversized.workload, engine="torch"
        )
        assert estimated_plan(again).per_device_bytes == fixed.fix.per_device_bytes
    assert fixes


def test_tpu_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match=r"does not run on v5e-8.*--engine jax"):
        plan("v5e-8")


def test_card_without_bfloat16_needs_float32() -> None:
    with pytest.raises(InvalidInputError, match=r"Tesla T4 does not compute in bfloat16.*compute: float32"):
        plan("t4", mode="lora")
    assert plan("t4", mode="lora", precision={"compute": "float32", "weights": "bfloat16"})


def test_tpu_kernel_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="splash cannot be used"):
        plan(attention="splash")


@pytest.mark.parametrize(
    "step", [pytest.param(step, id=name) for name, step in torch_measured_steps().items()]
)
def test_estimate_is_near_measured_memory(step: dict[str, Any]) -> None:
    estimate = estimated_plan(question_of(step))
    if step["recipe"]["training"].get("loss_chunk_tokens", 0) is None:
        # The number of trained tokens is unknown in advance: the plan counts all; the grid trained 2/3.
        assert estimate.per_device_bytes > step["peak_allocated_bytes"]
        return
    assert estimate.per_device_bytes / GIB == pytest.approx(step["peak_allocated_bytes"] / GIB, rel=0.10)
