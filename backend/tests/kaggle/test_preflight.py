"""Before a session is spent: are the devices those that were planned, and does the plan still hold?"""

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


def tpus(count: int, kind: str = "TPU v5 lite", memory_gib: float = 15.75) -> ProbeAnswer:
    report = DeviceReport(platform="tpu", kind=kind, num_devices=count, memory_bytes=int(memory_gib * GIB))
    return ProbeAnswer(device=report)


NO_TPU = ProbeAnswer(problem=DoctorProblem(detail="JAX sees no TPU.", next_step="Get one."))


def answering(answer: ProbeAnswer) -> Callable[[EngineName, Platform], ProbeAnswer]:
    return lambda engine, platform: answer


def preflight(
    home: Path, answer: ProbeAnswer, recipe: Recipe | None = None, *, target: str = "v5e-8", hours: float = 9
) -> Preflight:
    asked = recipe or make_recipe(**{"training.batch_size": 8})
    request = PreflightRequest("mine", asked, target, hours * HOUR, is_fast=True)
    return run_preflight(Settings(home=home), request, probe_devices=answering(answer))


def verdicts(found: Preflight) -> dict[str, bool]:
    return {check.name: check.passed for check in found.checks}


def test_the_promised_devices_pass_with_a_recipe_that_fits(tmp_path: Path) -> None:
    found = preflight(tmp_path, tpus(8))
    assert verdicts(found) == {"devices": True, "memory": True, "session": True}
    assert found.passed
    assert found.checks[0].detail == "8 x TPU v5 lite, as planned"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (NO_TPU, "8 x TPU v5 lite planned, none found: JAX sees no TPU."),
        (tpus(4), "8 x TPU v5 lite planned, 4 x TPU v5 lite found"),
        (tpus(8, "TPU v3"), "8 x TPU v5 lite planned, 8 x TPU v3 found"),
    ],
)
def test_other_devices_fail_before_anything_is_planned(
    tmp_path: Path, answer: ProbeAnswer, said: str
) -> None:
    found = preflight(tmp_path, answer)
    assert verdicts(found) == {"devices": False}
    assert not found.passed
    assert found.checks[0].detail == said
    assert found.checks[0].next_step is not None
    assert "accelerator" in found.checks[0].next_step


def test_a_recipe_that_does_not_fit_gets_advice(tmp_path: Path) -> None:
    found = preflight(tmp_path, tpus(8), make_recipe(**SEED_KEYS))
    memory = found.checks[1]
    assert (memory.name, memory.passed) == ("memory", False)
    assert memory.next_step is not None
    assert "--set" in memory.next_step


def test_less_device_memory_than_planned_is_used_in_the_plan(tmp_path: Path) -> None:
    found = preflight(tmp_path, tpus(8, memory_gib=0.001))
    assert verdicts(found)["memory"] is False


def test_a_training_that_outgrows_its_sessions_fails(tmp_path: Path) -> None:
    recipe = make_recipe(**{"training.batch_size": 8, "training.num_steps": 10**9})
    session = preflight(tmp_path, tpus(8), recipe).checks[2]
    assert not session.passed
    assert session.next_step is not None
    assert "--sessions" in session.next_step


def test_a_smoke_run_takes_whatever_device_is_here(tmp_path: Path) -> None:
    cpu = ProbeAnswer(device=DeviceReport(platform="cpu", kind="cpu", num_devices=1))
    found = preflight(tmp_path, cpu, make_recipe("tiny-gemma", **{"model.tokenizer": "tiny"}), target="local")
    assert found.passed
