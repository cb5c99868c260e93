"""The preflight check compares the devices found with those planned and validates the plan."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.recipes import SEED_KEYS, make_recipe

from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.targets import GIB
from tunix_rt.engines.select import ProbeAnswer
from tunix_rt.engines.types import DeviceReport, DoctorProblem, EngineName, Platform
from tunix_rt.kaggle.preflight import Preflight, PreflightRequest, run_preflight
from tunix_rt.recipes.types import Recipe

HOUR = 3600


def tpu_answer(count: int, kind: str = "TPU v5 lite", memory_gib: float = 15.75) -> ProbeAnswer:
    report = DeviceReport(platform="tpu", kind=kind, num_devices=count, memory_bytes=int(memory_gib * GIB))
    return ProbeAnswer(device=report)


NO_TPU = ProbeAnswer(problem=DoctorProblem(detail="JAX sees no TPU.", next_step="Get one."))


def fake_probe(answer: ProbeAnswer) -> Callable[[EngineName, Platform], ProbeAnswer]:
    return lambda engine, platform: answer


def preflight(
    home: Path, answer: ProbeAnswer, recipe: Recipe | None = None, *, target: str = "v5e-8", hours: float = 9
) -> Preflight:
    chosen = recipe or make_recipe(**{"training.batch_size": 8})
    request = PreflightRequest("mine", chosen, target, hours * HOUR, is_fast=True)
    return run_preflight(Settings(home=home), request, probe_devices=fake_probe(answer))


def verdicts(result: Preflight) -> dict[str, bool]:
    return {check.name: check.passed for check in result.checks}


def test_planned_devices_pass(tmp_path: Path) -> None:
    result = preflight(tmp_path, tpu_answer(8))
    assert verdicts(result) == {"devices": True, "memory": True, "session": True}
    assert result.passed
    assert result.checks[0].detail == "8 x TPU v5 lite, as planned"


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (NO_TPU, "8 x TPU v5 lite planned, none found: JAX sees no TPU."),
        (tpu_answer(4), "8 x TPU v5 lite planned, 4 x TPU v5 lite found"),
        (tpu_answer(8, "TPU v3"), "8 x TPU v5 lite planned, 8 x TPU v3 found"),
    ],
)
def test_other_devices_fail_before_planning(tmp_path: Path, answer: ProbeAnswer, detail: str) -> None:
    result = preflight(tmp_path, answer)
    assert verdicts(result) == {"devices": False}
    assert not result.passed
    assert result.checks[0].detail == detail
    assert result.checks[0].next_step is not None
    assert "accelerator" in result.checks[0].next_step


def test_oversized_recipe_gets_advice(tmp_path: Path) -> None:
    result = preflight(tmp_path, tpu_answer(8), make_recipe(**SEED_KEYS))
    memory = result.checks[1]
    assert (memory.name, memory.passed) == ("memory", False)
    assert memory.next_step is not None
    assert "--set" in memory.next_step


def test_plan_uses_the_reported_memory(tmp_path: Path) -> None:
    result = preflight(tmp_path, tpu_answer(8, memory_gib=0.001))
    assert verdicts(result)["memory"] is False


def test_too_long_training_fails(tmp_path: Path) -> None:
    recipe = make_recipe(**{"training.batch_size": 8, "training.num_steps": 10**9})
    session = preflight(tmp_path, tpu_answer(8), recipe).checks[2]
    assert not session.passed
    assert session.next_step is not None
    assert "--sessions" in session.next_step


def test_local_target_accepts_any_device(tmp_path: Path) -> None:
    cpu = ProbeAnswer(device=DeviceReport(platform="cpu", kind="cpu", num_devices=1))
    result = preflight(
        tmp_path, cpu, make_recipe("tiny-gemma", **{"model.tokenizer": "tiny"}), target="local"
    )
    assert result.passed
