"""The command line of `training/eval_generate.py`: `tunix-rt eval` by other flags."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.files.atomic import copy_atomically
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.output import note
from tunix_rt.cli.launchers import launch
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.types import DeviceName, DeviceRequest
from tunix_rt.evaluation.commands import decoding_of, evaluated, show
from tunix_rt.evaluation.evaluate import EvaluationRequest
from tunix_rt.evaluation.files import EvaluationDir

_PREDICTIONS_ENDING = ".jsonl"

Model = Annotated[
    str, typer.Option("--model", help="Run, directory of a model or adapter, hub id, kaggle: handle.")
]
EvalSet = Annotated[
    str, typer.Option("--eval-set", metavar="NAME|FILE", help="Name or JSONL file of the eval set.")
]
Output = Annotated[
    Path,
    typer.Option(
        "--output",
        help="Directory of the evaluation. A name that ends in .jsonl: a file of predictions, "
        "with the directory beside it.",
    ),
]
Device = Annotated[DeviceName, typer.Option("--device", help="Where to run.")]
MaxNewTokens = Annotated[
    int, typer.Option("--max_new_tokens", min=1, help="A text that reaches it is cut off.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", "--max-examples", min=1, help="Ask the first items only.")
]
Temperature = Annotated[float, typer.Option("--temperature", min=0, help="0 takes the most likely token.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides every draw of a temperature above 0.")]


def eval_generate_command(
    model: Model,
    eval_set: EvalSet,
    output: Output,
    engine: EngineOption = "auto",
    device: Device = "auto",
    max_new_tokens: MaxNewTokens = 512,
    limit: Limit = None,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
) -> None:
    """Evaluate a model; the same as `tunix-rt eval`. docs/evaluation.md explains the files and exit codes."""
    _refuse_base(model)
    is_file = output.suffix == _PREDICTIONS_ENDING
    directory = output.with_suffix("") if is_file else output
    request = EvaluationRequest(
        model=model,
        evalset=eval_set,
        decoding=decoding_of(temperature, 1.0, 1, seed, max_new_tokens),
        device=DeviceRequest(device),
        limit=limit,
        output=directory,
    )
    with opened_home() as home:
        evaluation = evaluated(home, request, engine)
        if is_file:
            copy_atomically(EvaluationDir(directory).predictions, output)
            note(f"predictions in {output}")
        show(home, evaluation, directory, as_json=False)


def eval_generate() -> None:
    """Run the command line; an error becomes its message, its next step and its exit code."""
    launch(eval_generate_command)


def _refuse_base(model: str) -> None:
    if model == "base" and not Path(model).is_dir():
        raise InvalidInputError(
            "--model base names no model: which base is meant?",
            next_step="Name it, e.g. --model google/gemma-3-1b-it, or a directory with its files.",
        )
