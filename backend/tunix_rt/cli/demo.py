"""`tunix-rt demo`: the main job, end to end, on this machine."""

import time
from typing import Annotated

import typer

from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, note, print_json
from tunix_rt.cli.demo_view import print_data, print_end, print_plan, print_result
from tunix_rt.engines.load import chosen_engine, load_engine
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.views import EvaluationBar
from tunix_rt.runs.views import TrainingView
from tunix_rt.services.demo import DemoData, Stage, build_demo_dataset
from tunix_rt.services.demo_evaluation import (
    DemoResult,
    demo_result,
    evaluate_demo_run,
    evaluate_random_weights,
)
from tunix_rt.services.demo_training import DEMO_DEVICE, DemoTraining, plan_demo_training

STAGES: dict[Stage, str] = {
    "collect": "1/10 collecting worked arithmetic traces",
    "check": "2/10 checking every step of every trace",
    "plant": "3/10 planting wrong steps to see whether the check finds them",
    "build": "4/10 building the dataset: duplicates, splits, contamination",
    "verify": "5/10 hashing the dataset again",
    "xray": "6/10 looking at what training will see",
}

SmokeSteps = Annotated[
    int | None,
    typer.Option(min=1, help="Train for this many steps only: everything runs, nothing has to be learned."),
]


def demo(smoke_steps: SmokeSteps = None, as_json: JsonFlag = False) -> None:
    """Train a small model on shipped traces and test it before and after. Exit 1 when a check fails.

    With --json, the last line has `before` and `after` (accuracy), `num_items`, `interval` (95 %, of after),
    `seconds` and `run_dir`.
    """
    start_s = time.monotonic()
    engine = load_engine(chosen_engine("auto", DEMO_DEVICE))
    with opened_home() as opened:
        data = _data(opened)
        if not as_json:
            print_data(data)
        note("7/10 planning the training")
        training = plan_demo_training(opened.settings, smoke_steps=smoke_steps)
        recipe = training.resolved.recipe
        if not as_json:
            print_plan(training.plan)
        note("8/10 asking the untrained model the held-out questions")
        with EvaluationBar(err) as bar:
            before = evaluate_random_weights(opened, engine, recipe, bar)
        note("9/10 training a tiny Gemma; Ctrl-C saves and stops")
        with TrainingView(err) as view:
            manifest = training.run(engine, view)
        if manifest.status != "succeeded":
            _stop(manifest, training)
        note("10/10 asking the trained model the same questions")
        with EvaluationBar(err) as bar:
            after = evaluate_demo_run(opened, engine, recipe, training.run_dir, bar)
        result = demo_result(opened, before, after)
    passed = data.passed and (result.has_learned or smoke_steps is not None)
    seconds = time.monotonic() - start_s
    if as_json:
        _print_json(data, training, manifest, result, passed=passed, seconds=seconds)
    else:
        print_result(manifest, training.run_dir.path, result, seconds=seconds)
        print_end(result, passed=passed, is_smoke=smoke_steps is not None)
    if not passed:
        raise typer.Exit(1)


def _data(opened: Home) -> DemoData:
    return build_demo_dataset(opened, on_stage=lambda stage: note(STAGES[stage]))


def _stop(manifest: RunManifest, training: DemoTraining) -> None:
    note(f"Demo stopped: the run in {training.run_dir.path} is {manifest.status}.")
    raise typer.Exit(manifest.exit_code or 1)


def _print_json(
    data: DemoData,
    training: DemoTraining,
    manifest: RunManifest,
    result: DemoResult,
    *,
    passed: bool,
    seconds: float,
) -> None:
    before, after = result.accuracies
    print_json(
        {
            "before": before.value,
            "after": after.value,
            "num_items": after.n,
            "interval": [after.low, after.high],
            "seconds": round(seconds, 1),
            "run_dir": str(training.run_dir.path),
            "passed": passed,
            "evaluations": [result.before.to_json(), result.after.to_json()],
            "difference": result.difference.to_json(),
            "data": data.model_dump(mode="json"),
            "plan": training.plan.model_dump(mode="json", exclude_none=True),
            "run": manifest.to_json(),
        }
    )
