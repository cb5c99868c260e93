"""The demo as a person reads it."""

from pathlib import Path

from tunix_rt.base.terminal.output import counted, out, print_table, say
from tunix_rt.cli.as_called import as_called, program
from tunix_rt.datasets.xray.views import print_xray
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.training.types import RunManifest
from tunix_rt.evaluation.types import Estimate, Evaluation
from tunix_rt.evaluation.views import print_prediction
from tunix_rt.runs.views import summary
from tunix_rt.services.demo import DemoData
from tunix_rt.services.demo_evaluation import MIN_ACCURACY, DemoResult

_WITH_YOUR_OWN = (
    "traces import YOUR_FILE",
    "data build --name mine",
    "plan training/configs/lora_smollm2_135m.yaml --on local --dataset mine-v1",
    "train training/configs/lora_smollm2_135m.yaml --dataset mine-v1 --output output/mine",
)


def print_data(data: DemoData) -> None:
    """What became of the traces."""
    dataset, imported = data.dataset.manifest, data.imported
    splits = ", ".join(f"{split.name} {split.statistics.num_rows:,}" for split in dataset.splits)
    say(f"collected  {imported.num_imported:,} new traces, {imported.num_present:,} were there already")
    say(f"checked    traces with an error: {data.traces_with_errors}")
    say(f"           planted wrong steps found: {data.planted_errors_found}")
    say(f"dataset    {dataset.dataset_key}: {counted(dataset.num_rows, 'row')} ({splits})")
    hashes = "hold" if data.verdict.intact else "FAIL"
    say(f"           content {dataset.content_hash[:16]}, hashes {hashes}")
    say("")
    print_xray(data.xray, out)
    say("")
    say(f"page       {data.page}")


def print_plan(plan: Plan) -> None:
    """What the training is expected to take."""
    say(f"plan       {plan.reason} ({plan.source})")
    if plan.total_seconds is not None:
        say(f"           about {plan.total_seconds / 60:.0f} min for {plan.num_steps} steps")


def print_result(manifest: RunManifest, run_dir: Path, result: DemoResult, *, seconds: float) -> None:
    """How training went, and the table that it was for."""
    say(summary(manifest, str(run_dir)))
    say("")
    for example in result.examples:
        say(f"The work that the model shows now ({example.item_id}):")
        print_prediction(example)
        say("")
    title = f"{result.after.num_items} questions with numbers that training never had together"
    columns = ("", "right answers", "95 %", "in the taught form", "steps right")
    rows = [_row("before", result.before), _row("after", result.after)]
    print_table(columns, rows, title=title)
    difference = result.difference
    say(
        f"difference {difference.difference:+.1%} (95 % {difference.low:+.1%} to {difference.high:+.1%}), "
        f"{difference.num_gained} gained, {difference.num_lost} lost, "
        f"exact McNemar p = {difference.p_value:.2g}"
    )
    say("")
    say(f"evidence   {run_dir}: recipe, plan, environment, metrics, model, predictions, evaluation, hashes")
    say(f"           {seconds:.0f} s in all")


def print_end(result: DemoResult, *, passed: bool, is_smoke: bool) -> None:
    """The verdict, and where to go from here."""
    if is_smoke and passed:
        say("Demo passed: everything ran. So few steps teach nothing; leave out --smoke-steps for a result.")
    elif passed:
        say("Demo passed.")
    else:
        accuracy = result.accuracies[1].value
        say(f"Demo FAILED: {accuracy:.1%} right, {MIN_ACCURACY:.0%} expected; see the checks above as well.")
    _print_next_steps(result)


def _print_next_steps(result: DemoResult) -> None:
    before, after = (str(which.evaluation_id)[:8] for which in (result.before, result.after))
    say("Look closer:")
    say(f"  {as_called(f'eval show {after}')}  # every question, text and verdict")
    say(f"  {as_called(f'compare {before} {after}')}  # what the training changed")
    say(f"  {as_called(f'chat {result.after.model.run_id}')}  # ask it yourself")
    say(f"  {as_called('up')}  # all of it in a browser")
    say("Next, with your own traces:")
    for command in _WITH_YOUR_OWN:
        say(f"  {program()} {command}")


def _row(when: str, evaluation: Evaluation) -> tuple[object, ...]:
    scores = evaluation.scores.overall
    accuracy = scores.accuracy
    return (
        when,
        None if accuracy is None else f"{accuracy.value:.1%} of {accuracy.n}",
        None if accuracy is None else f"{accuracy.low:.1%}–{accuracy.high:.1%}",
        _percent(scores.format_adherence),
        _percent(scores.step_correctness),
    )


def _percent(estimate: Estimate | None) -> str | None:
    return None if estimate is None else f"{estimate.value:.1%}"
