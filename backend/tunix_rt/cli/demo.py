"""`tunix-rt demo`: the main job, end to end, on this machine."""

import typer

from tunix_rt.cli.context import store
from tunix_rt.cli.output import JsonFlag, err, out, print_json, say
from tunix_rt.cli.xray_view import print_xray
from tunix_rt.services.demo import DemoResult, Stage, run_demo

STAGES: dict[Stage, str] = {
    "collect": "1/6 collecting worked arithmetic traces",
    "check": "2/6 checking every step of every trace",
    "plant": "3/6 planting wrong steps to see whether the check finds them",
    "build": "4/6 building the dataset: duplicates, splits, contamination",
    "verify": "5/6 hashing the dataset again",
    "xray": "6/6 looking at what training would see",
}


def demo(as_json: JsonFlag = False) -> None:
    """Turn shipped traces into a checked dataset and show its X-ray. Exit 1 when a check fails."""
    with store() as opened, err.status("starting") as status:
        result = run_demo(opened, on_stage=lambda stage: status.update(STAGES[stage]))
    print_json(result) if as_json else _print(result)
    if not result.passed:
        raise typer.Exit(1)


def _print(result: DemoResult) -> None:
    dataset, imported = result.dataset.manifest, result.imported
    splits = ", ".join(f"{split.name} {split.statistics.num_rows:,}" for split in dataset.splits)
    say(f"collected  {imported.num_imported:,} new traces, {imported.num_present:,} were there already")
    say(f"checked    traces with an error: {result.traces_with_errors}")
    say(f"           planted wrong steps found: {result.planted_errors_found}")
    say(f"dataset    {dataset.dataset_key}: {dataset.num_rows:,} rows ({splits})")
    hashes = "hold" if result.verdict.intact else "FAIL"
    say(f"           content {dataset.content_hash[:16]}, hashes {hashes}")
    say("")
    print_xray(result.xray, out)
    say("")
    say(f"page       {result.page}")
    say("Demo passed." if result.passed else "Demo FAILED: see the figures above.")
    say("Next: tunix-rt traces import YOUR_FILE, then: tunix-rt data build --name NAME")
