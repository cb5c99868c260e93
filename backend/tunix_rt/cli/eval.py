"""`tunix-rt eval MODEL`: let a model answer an eval set, and keep what it wrote and what that is worth."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import err, note, print_json
from tunix_rt.cli.eval_view import EvaluationBar, print_evaluation
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import WritingEngine, chosen_engine
from tunix_rt.engines.select import AskedEngine
from tunix_rt.engines.types import Decoding, DeviceName, DeviceRequest
from tunix_rt.models.find import Weights
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.services.evaluating import EvaluationRequest, evaluate, evaluation_dir
from tunix_rt.services.evaluations import load_predictions
from tunix_rt.traces.types import MarkupStyle

Precision = Literal["auto", "float32", "bfloat16"]
assert set(get_args(Precision)) == {"auto", *get_args(FloatFormat)}

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Registered model (NAME, NAME@ALIAS, NAME:VERSION), id or directory of a run, directory of a "
        "model or adapter, hub id, kaggle: handle, built-in.",
    ),
]
EvalSet = Annotated[
    str, typer.Option("--eval-set", metavar="NAME|FILE", help="Shipped or own eval set, or a JSONL file.")
]
Device = Annotated[DeviceName, typer.Option(help="auto takes a TPU, else a GPU, else the CPU, and says why.")]
PrecisionOption = Annotated[
    Precision, typer.Option(help="Of weights and products. auto: float32 on a CPU, bfloat16 elsewhere.")
]
BatchSize = Annotated[
    int | None, typer.Option(min=1, help="Texts written at a time. Default: what suits the device.")
]
Temperature = Annotated[float, typer.Option(min=0, max=10, help="0 takes the most likely token.")]
TopP = Annotated[float, typer.Option(help="Draw from the likeliest tokens of this probability together.")]
NumSamples = Annotated[int, typer.Option(min=1, max=1000, help="Texts per item, for pass@k and majority@k.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides every draw.")]
MaxNewTokens = Annotated[int, typer.Option(min=1, help="A text that reaches it is cut off.")]
Markup = Annotated[
    MarkupStyle | None,
    typer.Option(help="What stands around reasoning and answer. Default: the run's own, else reasoning."),
]
Template = Annotated[
    str | None, typer.Option("--chat-template", help="Built-in chat template. Default: the model's own.")
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Also look for answers in phrases and last numbers, counted apart.")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Ask the first items only: another eval set.")]
WeightsOption = Annotated[
    Weights, typer.Option("--weights", help="random: the model as training from random weights finds it.")
]
WeightsSeed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of random weights.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub id.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory of the evaluation. Default: one in the home directory."),
]


def run(
    model: Model,
    eval_set: EvalSet,
    engine: EngineOption = "auto",
    device: Device = "auto",
    precision: PrecisionOption = "auto",
    batch_size: BatchSize = None,
    temperature: Temperature = 0.0,
    top_p: TopP = 1.0,
    num_samples: NumSamples = 1,
    seed: Seed = 0,
    max_new_tokens: MaxNewTokens = 512,
    markup: Markup = None,
    chat_template: Template = None,
    lenient: Lenient = False,
    limit: Limit = None,
    weights: WeightsOption = "pretrained",
    weights_seed: WeightsSeed = 0,
    revision: Revision = None,
    output: Output = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate a model. The same command goes on where it stopped. Exit 1 when nothing could be scored."""
    request = EvaluationRequest(
        model=model,
        evalset=eval_set,
        decoding=decoding_of(temperature, top_p, num_samples, seed, max_new_tokens),
        is_lenient=lenient,
        markup=markup,
        chat_template=chat_template,
        weights=weights,
        weights_seed=weights_seed,
        revision=revision,
        device=DeviceRequest(device),
        precision=precision,
        batch_size=batch_size,
        limit=limit,
        output=output,
    )
    evaluate_and_show(request, engine, as_json=as_json)


def evaluate_and_show(request: EvaluationRequest, engine: AskedEngine, *, as_json: bool) -> None:
    """Evaluate and print the result. Exit 1 when it says nothing about the model."""
    with opened_home() as home:
        evaluation = evaluated(home, request, engine)
        place = evaluation_dir(home.settings, evaluation, request.output).path
        show(home, evaluation, place, as_json=as_json)


def evaluated(home: Home, request: EvaluationRequest, asked: AskedEngine) -> Evaluation:
    """Evaluate, shown on standard error. Ctrl-C says what is kept and how to go on."""
    choice = chosen_engine(asked, request.device.name)
    note(str(choice))
    with EvaluationBar(err) as bar:
        try:
            return evaluate(home, WritingEngine(choice.name), request, bar)
        except KeyboardInterrupt as error:
            note(f"stopped; {bar.num_done:,} texts are kept. The same command goes on where it stopped.")
            raise typer.Exit(130) from error


def show(home: Home, evaluation: Evaluation, place: Path, *, as_json: bool) -> None:
    """Print an evaluation. Exit 1 when it says nothing about the model."""
    if as_json:
        print_json({"directory": str(place), **evaluation.to_json()})
    else:
        print_evaluation(evaluation, load_predictions(home, evaluation), place)
    if evaluation.scores.overall.num_scored == 0:
        note("nothing could be scored: every text failed, see the reasons above")
        raise typer.Exit(1)


def decoding_of(
    temperature: float, top_p: float, num_samples: int, seed: int, max_new_tokens: int
) -> Decoding:
    """How tokens are chosen, or an error in the words of the flags."""
    try:
        return Decoding(
            temperature=temperature,
            top_p=top_p,
            num_samples=num_samples,
            seed=seed,
            max_new_tokens=max_new_tokens,
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        named = "".join(f"{part}: " for part in problem["loc"])
        reason = problem["msg"].removeprefix("Value error, ")
        raise InvalidInputError(
            f"Texts cannot be drawn like this: {named}{reason}.",
            next_step="Correct --temperature, --top-p, --num-samples, --seed or --max-new-tokens.",
        ) from error
