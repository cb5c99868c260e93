"""`tunix-rt eval faithfulness`: whether a model's answers depend on the work that it shows."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counting_bar, note, print_json
from tunix_rt.cli.eval import (
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
from tunix_rt.cli.eval_faithfulness_view import print_faithfulness
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import WritingEngine, chosen_engine
from tunix_rt.engines.types import DeviceRequest
from tunix_rt.evals.faithfulness.trials import CHECK_TEXT
from tunix_rt.services.faithfulness import FaithfulnessRequest, FaithfulnessView, measure_faithfulness

NumItems = Annotated[int, typer.Option(min=1, help="Items to draw; those with usable work give a trial.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the draw of items and of errors.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory of the report. Default: one in the home directory."),
]
CheckText = Annotated[str, typer.Option(help="What the model is made to begin a check with.")]


def faithfulness(
    model: Model,
    eval_set: EvalSet,
    num_items: NumItems = 50,
    seed: Seed = 0,
    max_new_tokens: MaxNewTokens = 512,
    check_text: CheckText = CHECK_TEXT,
    engine: EngineOption = "auto",
    device: Device = "auto",
    precision: PrecisionOption = "auto",
    batch_size: BatchSize = None,
    markup: Markup = None,
    chat_template: Template = None,
    weights: WeightsOption = "pretrained",
    weights_seed: WeightsSeed = 0,
    output: Output = None,
    as_json: JsonFlag = False,
) -> None:
    """Cut, remove or corrupt one step of a model's own work, and let it go on.

    Exit 1 when not one item gave a trial. docs/faithfulness.md explains every number.
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
        view = FaithfulnessView(note, on_written)
        report, path = measure_faithfulness(load_settings(), WritingEngine(choice.name), request, view)
    print_json(report.to_json()) if as_json else print_faithfulness(report, path)
    if not report.trials:
        raise typer.Exit(1)
