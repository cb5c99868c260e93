"""`tunix-rt demo`: the main job, end to end, on this machine."""

from typing import Annotated

import typer

from tunix_rt.cli.context import store
from tunix_rt.cli.output import JsonFlag, err, note, out, print_json, say
from tunix_rt.cli.train import jax_engine
from tunix_rt.cli.train_view import TrainingView, summary
from tunix_rt.cli.xray_view import print_xray
from tunix_rt.core.plan import Plan
from tunix_rt.core.run_record import RunManifest
from tunix_rt.services.demo import DemoData, Stage, build_demo_dataset
from tunix_rt.services.demo_training import plan_demo_training

STAGES: dict[Stage, str] = {
    "collect": "1/8 collecting worked arithmetic traces",
    "check": "2/8 checking every step of every trace",
    "plant": "3/8 planting wrong steps to see whether the check finds them",
    "build": "4/8 building the dataset: duplicates, splits, contamination",
    "verify": "5/8 hashing the dataset again",
    "xray": "6/8 looking at what training will see",
}

SmokeSteps = Annotated[
    int | None, typer.Option(min=1, help="Train for this many steps only; all else is the same.")
]


def demo(smoke_steps: SmokeSteps = None, as_json: JsonFlag = False) -> None:
    """Turn shipped traces into a checked dataset and a trained model. Exit 1 when a check fails."""
    engine = jax_engine()
    with store() as opened, err.status("starting") as status:
        data = build_demo_dataset(opened, on_stage=lambda stage: status.update(STAGES[stage]))
        settings = opened.settings
    if not as_json:
        _print_data(data)
    note("7/8 planning the training")
    training = plan_demo_training(settings, smoke_steps=smoke_steps)
    if not as_json:
        _print_plan(training.plan)
    note("8/8 training a tiny Gemma; Ctrl-C saves and stops")
    with TrainingView(err) as view:
        manifest = training.run(engine, view)
    passed = data.passed and manifest.status == "succeeded"
    if as_json:
        parts = {"plan": training.plan.model_dump(mode="json"), "run": manifest.to_json()}
        print_json({**data.model_dump(mode="json"), "passed": passed, **parts})
    else:
        _print_run(manifest, str(training.run_dir.path), passed=passed)
    if not passed:
        raise typer.Exit(manifest.exit_code or 1)


def _print_data(data: DemoData) -> None:
    dataset, imported = data.dataset.manifest, data.imported
    splits = ", ".join(f"{split.name} {split.statistics.num_rows:,}" for split in dataset.splits)
    say(f"collected  {imported.num_imported:,} new traces, {imported.num_present:,} were there already")
    say(f"checked    traces with an error: {data.traces_with_errors}")
    say(f"           planted wrong steps found: {data.planted_errors_found}")
    say(f"dataset    {dataset.dataset_key}: {dataset.num_rows:,} rows ({splits})")
    hashes = "hold" if data.verdict.intact else "FAIL"
    say(f"           content {dataset.content_hash[:16]}, hashes {hashes}")
    say("")
    print_xray(data.xray, out)
    say("")
    say(f"page       {data.page}")


def _print_plan(plan: Plan) -> None:
    say(f"plan       {plan.reason} ({plan.source})")
    if plan.total_seconds is not None:
        say(f"           about {plan.total_seconds / 60:.0f} min for {plan.num_steps} steps")


def _print_run(manifest: RunManifest, directory: str, *, passed: bool) -> None:
    say(summary(manifest, directory))
    say("")
    ends = {"cancelled": "Demo stopped.", "succeeded": "Demo passed." if passed else ""}
    say(ends.get(manifest.status) or "Demo FAILED: see the figures above.")
    say("Next, with your own traces: tunix-rt traces import YOUR_FILE, tunix-rt data build --name mine,")
    say("tunix-rt plan training/configs/lora_gemma_2b.yaml --on t4 --dataset mine-v1, tunix-rt train …")
