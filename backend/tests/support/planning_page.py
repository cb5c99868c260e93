"""The tables of docs/planning.md, from the targets and from recorded compiler output."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tunix_rt.engines.planning.compile import CompiledStep
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, estimated_plan
from tunix_rt.engines.planning.targets import GIB, TARGETS, find_target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.weights.sources import resolve_model
from tunix_rt.recipes.load import validate_recipe

ESTIMATED_ON = ("t4", "rtx4090", "rtx5090", "h200")
PLANNED_ELSEWHERE = ("gemma-2b lora 1024 x 4", "gemma-2-2b lora 1024 x 4", "gemma-3-1b lora 1024 x 4")
"""Steps that were compiled for a TPU and are estimated for the GPUs above."""

_RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def compiled_cases() -> dict[str, dict[str, Any]]:
    """Return the compiled steps: name to target, recipe and memory analysis of the compiler."""
    cases: dict[str, dict[str, Any]] = _read("compiled_steps.json")
    return cases


def measured_steps() -> dict[str, dict[str, Any]]:
    """Return measured GPU steps: name to target, recipe, peak_gib and sometimes tokens_per_s."""
    steps: dict[str, dict[str, Any]] = _read("measured_steps.json")["steps"]
    return steps


def torch_measured_steps() -> dict[str, dict[str, Any]]:
    """Return the GPU steps of the torch engine, measured by benchmarks/gpu_grid.py."""
    steps: dict[str, dict[str, Any]] = _read("torch_grid.json")["steps"]
    return {name: step for name, step in steps.items() if "peak_bytes" in step}


def _read(name: str) -> Any:
    return json.loads((_RESULTS / name).read_text(encoding="utf-8"))


def question_of(case: dict[str, Any]) -> PlanQuestion:
    recipe = validate_recipe(case["recipe"])
    architecture = resolve_model(recipe.model, needs_weights=False).architecture
    engine = case.get("engine", "jax")
    return PlanQuestion(recipe, architecture, find_target(case["target"]), Workload(), engine=engine)


def plan_of(case: dict[str, Any]) -> Plan:
    return compiled_plan(question_of(case), CompiledStep.model_validate(case["compiled"]))


def targets_table() -> str:
    rows = [
        (
            f"`{target.name}`",
            target.description,
            f"{target.memory_bytes / GIB:.2f}",
            f"{target.peak_flops / 1e12:,.4g}",
            f"{target.bytes_per_s / 1e9:,.0f}",
            target.memory_source,
        )
        for target in TARGETS.values()
    ]
    headings = ("target", "devices", "usable GiB", "TFLOP/s", "GB/s", "source of the memory figure")
    own = (
        "`cpu` is the processors and the available memory of this machine. `local` is its NVIDIA GPUs if\n"
        "nvidia-smi lists known ones, otherwise `cpu`. Speeds are per device, from Google's and NVIDIA's\n"
        "data sheets, for dense bfloat16 (float32 for a T4, which has no bfloat16 units)."
    )
    return f"{table_text(headings, rows)}\n{own}\n"


def plans_table() -> str:
    cases = compiled_cases()
    plans = [(name, plan_of(case)) for name, case in cases.items()]
    plans += [
        (name, estimated_plan(question_of(case | {"target": target})))
        for name, case in cases.items()
        for target in ESTIMATED_ON
        if name in PLANNED_ELSEWHERE
    ]
    headings = ("step", "target", "GiB per device", "limit", "verdict", "source", "step time, estimated")
    return table_text(headings, [_plan_row(name, plan) for name, plan in plans])


def measured_table() -> str:
    rows = []
    for name, step in measured_steps().items():
        plan = estimated_plan(question_of(step))
        predicted = plan.tokens_per_step / plan.step_seconds
        measured = f"{step['tokens_per_s']:,}" if "tokens_per_s" in step else "–"
        memory = (f"{plan.per_device_bytes / GIB:.2f}", f"{step['peak_gib']:.2f}")
        rows.append((name, plan.target, *memory, f"{predicted:,.0f}", measured))
    headings = ("step", "target", "GiB, estimated", "measured", "tokens/s, estimated", "measured")
    return table_text(headings, rows)


def torch_table() -> str:
    """Return the estimated plans, then estimates next to measurements."""
    in_float32 = torch_case_for_t4()
    plans = [(f"{name}, float32", estimated_plan(question_of(case))) for name, case in in_float32.items()]
    plans += [
        (name, estimated_plan(question_of(case | {"target": target, "engine": "torch"})))
        for name, case in compiled_cases().items()
        for target in ESTIMATED_ON
        if name in PLANNED_ELSEWHERE and target != "t4"
    ]
    headings = ("step", "target", "GiB per device", "limit", "verdict", "source", "step time, estimated")
    table = table_text(headings, [_plan_row(name, plan) for name, plan in plans])
    return table + _torch_measured_table()


def torch_case_for_t4() -> dict[str, dict[str, Any]]:
    """Return the same steps in float32, because a T4 has no bfloat16 units."""
    cases = {}
    for name, case in compiled_cases().items():
        if name in PLANNED_ELSEWHERE:
            training = case["recipe"]["training"]
            precision = training["precision"] | {"compute": "float32"}
            recipe = case["recipe"] | {"training": training | {"precision": precision}}
            cases[name] = case | {"recipe": recipe, "target": "t4", "engine": "torch"}
    return cases


def _torch_measured_table() -> str:
    rows = []
    for index, (name, step) in enumerate(torch_measured_steps().items()):
        estimated = estimated_plan(question_of(step)).per_device_bytes
        measured = step["peak_allocated_bytes"]
        figures = (f"{estimated / GIB:.2f}", f"{measured / GIB:.2f}", f"{estimated / measured - 1:+.1%}")
        rows.append((name, step["target"], *figures, "held out" * (index % 4 == 3)))
    headings = ("step", "target", "GiB, estimated", "measured", "error", "")
    return "\n" + table_text(headings, rows)


def _plan_row(name: str, plan: Plan) -> Sequence[str]:
    return (
        name,
        plan.target,
        f"{plan.per_device_bytes / GIB:.2f}",
        f"{plan.limit_bytes / GIB:.2f}",
        "fits" if plan.fits else "**does not fit**",
        plan.source,
        f"{plan.step_seconds * 1000:,.0f} ms",
    )


def table_text(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
