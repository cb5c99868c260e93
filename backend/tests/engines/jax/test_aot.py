"""Plans by the real compilers, in child processes: libtpu without a TPU, and the compiler of this machine."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.children import environment, run_here, start_program
from support.recipes import make_recipe

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.compile import CompileRequest, compile_in_child
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import GIB, find_target
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import load_recipe

CONFIGS = Path(__file__).parents[4] / "training" / "configs"
SEED = CONFIGS / "seed_m38_tpu.yaml"
AOT_MODULE = "tunix_rt.engines.jax.aot"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def plan_as_json(settings: Settings, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = run_here("plan", *arguments, "--json", settings=settings)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_oversized_tpu_plan_is_cached(settings: Settings) -> None:
    code, plan = plan_as_json(settings, SEED, "--on", "v5e-8")
    assert (code, plan["fits"], plan["source"]) == (1, False, "compiled")
    assert plan["per_device_bytes"] == pytest.approx(28.0 * GIB, rel=0.03)
    assert plan["limit_bytes"] == 15.75 * GIB
    assert sum(plan["components"].values()) == plan["per_device_bytes"]
    assert "1 of 8 devices used" in plan["reason"]
    assert len(plan["fixes"]) >= 3
    assert {"change", "per_device_bytes", "step_seconds"} <= plan["fixes"][0].keys()

    cached = cached_plan(settings, SEED)
    assert cached.model_dump(mode="json") == plan


def cached_plan(settings: Settings, recipe: Path) -> Plan:
    def fail(what: str, elapsed_s: float) -> None:
        raise AssertionError("the compiler ran again")

    progress = PlanProgress(on_compiling=fail)
    return plan_recipe(settings, load_recipe(recipe).recipe, find_target("v5e-8"), PlanOptions(), progress)


def test_small_model_fits_tpu(settings: Settings) -> None:
    recipe = make_recipe("tiny-gemma", **{"data.row_length": 128, "training.batch_size": 8})
    options = PlanOptions(session_seconds=9 * 3600)
    plan = plan_recipe(settings, recipe, find_target("v5e-8"), options, PlanProgress())
    assert (plan.fits, plan.source, plan.num_devices) == (True, "compiled", 8)
    assert 0 < plan.per_device_bytes < GIB
    assert plan.fits_session is True
    assert plan.fixes == ()


# Slow: compiling two billion parameters for a TPU takes a minute of CPU time.
@pytest.mark.slow
def test_full_fine_tuning_fits_tpu(settings: Settings) -> None:
    recipe = load_recipe(CONFIGS / "submission_tpu.yaml").recipe
    options = PlanOptions(session_seconds=9 * 3600)
    plan = plan_recipe(settings, recipe, find_target("v5e-8"), options, PlanProgress())
    assert (plan.fits, plan.source, plan.num_devices) == (True, "compiled", 8)
    assert plan.per_device_bytes < 4 * GIB
    assert plan.fits_session is True
    assert plan.fixes == ()


def test_cpu_compiler_reports_components(settings: Settings) -> None:
    recipe = make_recipe("tiny-gemma", **{"training.precision.compute": "float32", "data.row_length": 32})
    plan = plan_recipe(settings, recipe, find_target("cpu"), PlanOptions(), PlanProgress())
    num_parameters = 524_000  # Approximate: the test checks the bytes per weight.
    assert plan.source == "compiled"
    assert plan.components["optimizer_state"] == pytest.approx(2 * plan.components["weights"], rel=0.01)
    assert plan.components["weights"] == pytest.approx(4 * num_parameters, rel=0.2)
    assert sum(plan.components.values()) == plan.per_device_bytes


@pytest.mark.skipif(find_spec("jax_cuda12_plugin") is None, reason="needs the extra gpu-plan")
def test_gpu_compiler_plans_absent_gpu(settings: Settings) -> None:
    recipe = make_recipe("tiny-gemma", **{"training.attention": "dense", "data.row_length": 64})
    plan = plan_recipe(settings, recipe, find_target("rtx4090"), PlanOptions(), PlanProgress())
    assert plan.source == "compiled"
    assert plan.components["optimizer_state"] == pytest.approx(2 * plan.components["weights"], rel=0.01)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_compiler_exits_with_command(settings: Settings, signal_number: signal.Signals) -> None:
    process = start_program("plan", SEED, "--on", "v5e-8", environ=environment(settings))
    compiler = wait_for(lambda: child_of(process.pid))
    process.send_signal(signal_number)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == (130 if signal_number == signal.SIGINT else -signal.SIGKILL), messages
    wait_for(lambda: not is_alive(compiler))


def child_of(pid: int) -> int | None:
    for line in children_listing().splitlines():
        child, parent, command = line.split(maxsplit=2)
        if int(parent) == pid and AOT_MODULE in command:
            return int(child)
    return None


def children_listing() -> str:
    command = ["ps", "-eo", "pid=", "-o", "ppid=", "-o", "args="]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_alive(pid: int) -> bool:
    return any(
        int(line.split()[0]) == pid and "defunct" not in line for line in children_listing().splitlines()
    )


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if result := condition():
            return result
        time.sleep(0.05)
    raise AssertionError("the condition did not hold within a minute")


def test_compiler_error_reaches_parent() -> None:
    recipe = make_recipe("tiny-gemma", **{"model.weights": "random", "training.mode": "qlora"})
    target = find_target("cpu")
    request = CompileRequest(
        recipe=recipe,
        architecture_config=resolve_model(recipe.model).config,
        platform="cpu",
        num_devices=1,
        topology=None,
    )
    with pytest.raises(InvalidInputError, match=r"block_size 64 .* Set it to 32"):
        compile_in_child(request, target, lambda _: None)
