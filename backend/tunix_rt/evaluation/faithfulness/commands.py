"""tunix-rt eval faithfulness."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, counting_bar, note, print_json, printable, say
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.evaluation.commands import (
    BatchSize,
    Device,
    EvalSet,
    Markup,
    MaxNewTokens,
    Model,
    PrecisionOption,
    Template,
    WeightsOption,
    WeightsSeed,
)
from tunix_rt.evaluation.faithfulness.measure import FaithfulnessRequest, measure_faithfulness
from tunix_rt.evaluation.faithfulness.trials import CHECK_TEXT
from tunix_rt.evaluation.faithfulness.types import Arm, FaithfulnessReport, GroupFaithfulness
from tunix_rt.evaluation.types import Estimate

_MAX_EXAMPLE_CHARS = 800
_ARM_NAMES: dict[Arm, str] = {
    "control": "continues from its own step",
    "corrupted": "  from the step with a wrong result",
    "all-steps": "answers right after all of its steps",
    "removed": "  with the step left out",
    "early": "  before the step",
    "no-steps": "  without any step",
    "check-clean": "starts a check of its own work",
    "check-corrupted": "  of work with the wrong result in it",
}
"""Each control, followed by the arms that are compared with it."""


def print_faithfulness(report: FaithfulnessReport, path: Path) -> None:
    """Print the rates with their controls, by depth, an example of each kind, and the path of the report."""
    num_trials = report.overall.num_trials
    what = f"{report.setup.model.name} on {report.setup.evalset}"
    say(f"{what}: {counted(num_trials, 'trial')} from {counted(report.num_items, 'item')}, greedy")
    for reason, count in report.excluded.items():
        say(f"left out: {count:,} x {reason}")
    if num_trials:
        say("")
        say("The answer changes when the model")
        for arm, scores in report.overall.arms.items():
            test = "" if scores.p_value is None else f", p = {scores.p_value:.2g}"
            say(f"{_ARM_NAMES[arm]:<46}{_shown_rate(scores.flip)}{test}")
        _print_rates("all steps", report.overall)
        for depth, group in report.by_depth.items():
            _print_rates(f"{depth} steps", group)
        for kind, example in report.examples.items():
            trial = next(trial for trial in report.trials if trial.item_id == example.item_id)
            continuation = trial.arms[example.arm]
            place = f"{trial.item_id}, step {trial.step} of {trial.num_steps}, {example.arm}"
            say("")
            say(f"{kind.replace('-', ' ')} ({place})")
            if example.arm in ("corrupted", "check-corrupted"):
                change = f"{trial.replaced} for {trial.original}"
                say(f"planted: {change}; own answer: {printable(trial.own_answer)}")
            say(f"given:   {_shorten(continuation.beginning)}")
            say(f"written: {_shorten(continuation.text or '')}")
    say("")
    say(f"record: {path}")
    say("docs/faithfulness.md explains what each number shows, and what it does not")


def _print_rates(name: str, group: GroupFaithfulness) -> None:
    error, check = group.error, group.check
    rates = {
        "follows the error": error.follows,
        "recovers silently": error.silent_recovery,
        "recovers and reports it": error.reported_recovery,
        "gives a third answer": error.third_answer,
        "reports a mistake": error.detection,
        "  on its own work (false alarm)": error.false_alarm,
        "approves work with the error (ritual)": check.ritual,
        "  approves its own work": check.holds_on_clean,
    }
    say("")
    say(f"{name}: {counted(group.num_trials, 'trial')}")
    for rate, estimate in rates.items():
        say(f"{rate:<46}{_shown_rate(estimate)}")


def _shown_rate(estimate: Estimate | None) -> str:
    return "–" if estimate is None else str(estimate)


def _shorten(text: str) -> str:
    shown = text if len(text) <= _MAX_EXAMPLE_CHARS else f"{text[:_MAX_EXAMPLE_CHARS]} …"
    return printable(shown).strip().replace("\n", "\n         ")


def faithfulness(
    model: Model,
    eval_set: EvalSet,
    num_items: Annotated[
        int, typer.Option(min=1, help="Items to sample; those with usable steps give a trial.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed for choosing items and errors.")] = 0,
    max_new_tokens: MaxNewTokens = 512,
    check_text: Annotated[str, typer.Option(help="Text that starts a check in the check arms.")] = CHECK_TEXT,
    engine: EngineOption = "auto",
    device: Device = "auto",
    precision: PrecisionOption = "auto",
    batch_size: BatchSize = None,
    markup: Markup = None,
    chat_template: Template = None,
    weights: WeightsOption = "pretrained",
    weights_seed: WeightsSeed = 0,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the report. Default: one in the home directory."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Cut, remove or corrupt one step of a model's own work and let it continue.

    Exit 1 if no item gave a trial. docs/faithfulness.md explains every number.
    """
    request = FaithfulnessRequest(
        model=model,
        evalset=eval_set,
        num_items=num_items,
        seed=seed,
        max_new_tokens=max_new_tokens,
        check_text=check_text,
        markup=markup,
        chat_template=chat_template,
        weights=weights,
        weights_seed=weights_seed,
        device=DeviceRequest(device),
        precision=precision,
        batch_size=batch_size,
        output=output,
    )
    choice = chosen_engine(engine, device)
    note(str(choice))
    with counting_bar("writing") as on_written:
        lazy = LazyEngine(choice.name)
        report, path = measure_faithfulness(load_settings(), lazy, request, note, on_written)
    print_json(report.to_json()) if as_json else print_faithfulness(report, path)
    if not report.trials:
        raise typer.Exit(1)
