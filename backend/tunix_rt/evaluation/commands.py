"""tunix-rt eval run, list, show, items, add, rm, rescore, score, export; data validate."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer
from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.home import Home, opened_home
from tunix_rt.base.settings import load_settings
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, err, note, print_json, print_table, say
from tunix_rt.datasets.evalsets import evalset_paths
from tunix_rt.datasets.service import verify_dataset
from tunix_rt.datasets.views import print_verdict
from tunix_rt.engines.commands import EngineOption
from tunix_rt.engines.load import LazyEngine, chosen_engine
from tunix_rt.engines.select import RequestedEngine
from tunix_rt.engines.types import Decoding, DeviceName, DeviceRequest
from tunix_rt.evaluation.evaluate import EvaluationRequest, evaluate, evaluation_dir
from tunix_rt.evaluation.rescore import num_changed_verdicts, score_predictions
from tunix_rt.evaluation.rescore import rescore as rescore_evaluation
from tunix_rt.evaluation.scoring.evalset_report import validate_evalset_file
from tunix_rt.evaluation.service import (
    add_directory,
    delete_evaluation,
    export_evaluation,
    find_evaluation,
    load_predictions,
    named_directory,
)
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationFilter,
    ExtractionRule,
    PredictionFilter,
    Verdict,
)
from tunix_rt.evaluation.views import EvaluationBar, print_evalset, print_evaluation, print_prediction
from tunix_rt.models.find import Weights
from tunix_rt.recipes.types import FloatFormat
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

Target = Annotated[
    str, typer.Argument(metavar="FILE|NAME|KEY", help="Eval set by name or file, or dataset key.")
]


def validate(target: Target, as_json: JsonFlag = False) -> None:
    """Validate an eval set file or a dataset. Exit 1 if it must not be used as it is."""
    settings = load_settings()
    evalset = evalset_paths(settings).get(target)
    # A key has no separator and no .jsonl ending, so a misspelt path is reported as a missing file.
    if evalset is None and ("/" in target or target.endswith(".jsonl") or Path(target).is_file()):
        evalset = Path(target)
    if evalset is not None:
        report = validate_evalset_file(evalset, datasets_dir=settings.datasets_dir)
        is_valid = report.is_valid
        print_json(report) if as_json else print_evalset(report)
    else:
        verdict = verify_dataset(settings.datasets_dir, target)
        is_valid = verdict.intact
        print_json(verdict) if as_json else print_verdict(verdict)
    if not is_valid:
        raise typer.Exit(1)


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
    str,
    typer.Option(
        "--eval-set", metavar="NAME|FILE", help="Name of a shipped or own eval set, or a JSONL file."
    ),
]
Device = Annotated[
    DeviceName, typer.Option(help="auto selects a TPU, else a GPU, else the CPU, and prints why.")
]
PrecisionOption = Annotated[
    Precision,
    typer.Option(help="Of weights and matrix products. auto: float32 on a CPU, bfloat16 elsewhere."),
]
BatchSize = Annotated[
    int | None, typer.Option(min=1, help="Completions per batch. Default: chosen for the device.")
]
TopP = Annotated[
    float, typer.Option(help="Sample from the most likely tokens whose probabilities add up to this.")
]
MaxNewTokens = Annotated[int, typer.Option(min=1, help="Longer completions are cut off.")]
Markup = Annotated[
    MarkupStyle | None,
    typer.Option(help="Markup of reasoning and answer. Default: that of the run, else reasoning."),
]
Template = Annotated[
    str | None, typer.Option("--chat-template", help="Built-in chat template. Default: that of the model.")
]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Also accept answers in phrases and last numbers, counted separately."),
]
WeightsOption = Annotated[
    Weights,
    typer.Option("--weights", help="random: the model as training from random weights starts with it."),
]
WeightsSeed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of random weights.")]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit of a hub id.")]


def run(
    model: Model,
    eval_set: EvalSet,
    engine: EngineOption = "auto",
    device: Device = "auto",
    precision: PrecisionOption = "auto",
    batch_size: BatchSize = None,
    temperature: Annotated[float, typer.Option(min=0, max=10, help="0 is greedy decoding.")] = 0.0,
    top_p: TopP = 1.0,
    num_samples: Annotated[
        int, typer.Option(min=1, max=1000, help="Completions per item, for pass@k and majority@k.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampling.")] = 0,
    max_new_tokens: MaxNewTokens = 512,
    markup: Markup = None,
    chat_template: Template = None,
    lenient: Lenient = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use only the first items; this makes it a different eval set.")
    ] = None,
    weights: WeightsOption = "pretrained",
    weights_seed: WeightsSeed = 0,
    revision: Revision = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory of the evaluation. Default: one in the home directory."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate a model. Repeat the command to resume. Exit 1 if nothing could be scored."""
    request = EvaluationRequest(
        model=model,
        evalset=eval_set,
        decoding=build_decoding(temperature, top_p, num_samples, seed, max_new_tokens),
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
    evaluate_and_print(request, engine, as_json=as_json)


def evaluate_and_print(request: EvaluationRequest, engine: RequestedEngine, *, as_json: bool) -> None:
    """Evaluate and print the result. Exit 1 if nothing could be scored."""
    with opened_home() as home:
        evaluation = evaluate_with_progress(home, request, engine)
        directory = evaluation_dir(home.settings, evaluation, request.output).path
        print_result(home, evaluation, directory, as_json=as_json)


def evaluate_with_progress(home: Home, request: EvaluationRequest, engine: RequestedEngine) -> Evaluation:
    """Evaluate with progress on standard error. Ctrl-C prints what is kept and how to resume."""
    choice = chosen_engine(engine, request.device.name)
    note(str(choice))
    with EvaluationBar(err) as bar:
        try:
            return evaluate(home, LazyEngine(choice.name), request, bar)
        except KeyboardInterrupt as error:
            note(f"stopped; {bar.num_done:,} texts are kept. Run the same command again to resume.")
            raise typer.Exit(130) from error


def print_result(home: Home, evaluation: Evaluation, directory: Path, *, as_json: bool) -> None:
    """Print an evaluation. Exit 1 if nothing could be scored."""
    if as_json:
        print_json({"directory": str(directory), **evaluation.to_json()})
    else:
        print_evaluation(evaluation, load_predictions(home, evaluation), directory)
    if evaluation.scores.overall.num_scored == 0:
        note("nothing could be scored: every text failed, see the reasons above")
        raise typer.Exit(1)


def build_decoding(
    temperature: float, top_p: float, num_samples: int, seed: int, max_new_tokens: int
) -> Decoding:
    """Decoding options, or an error that names the flags."""
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
            f"The sampling options are invalid: {named}{reason}.",
            next_step="Correct --temperature, --top-p, --num-samples, --seed or --max-new-tokens.",
        ) from error


Reference = Annotated[
    str,
    typer.Argument(
        metavar="REF", help="Id of an evaluation or its first 6 characters, run id, or directory."
    ),
]
RecordLimit = Annotated[int, typer.Option(min=1, max=1_000, help="Rows to show.")]


def list_(
    model: Annotated[str | None, typer.Option(help="Part of the name of the model or of its base.")] = None,
    eval_set: Annotated[str | None, typer.Option(help="Name of the eval set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset that the model was trained on.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Part of the name of the recipe.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Id of the run.")] = None,
    limit: RecordLimit = 20,
    as_json: JsonFlag = False,
) -> None:
    """List evaluations, newest first."""
    criteria = EvaluationFilter(model=model, evalset=eval_set, dataset=dataset, recipe=recipe, run_id=run_id)
    with opened_home() as home:
        page = EvaluationRepository(home.database).list(criteria, limit=limit, offset=0)
    if as_json:
        print_json([summary.to_json() for summary in page.data])
        return
    if not page.data:
        say("No evaluation matches. Create one: tunix-rt eval MODEL --eval-set eval_v2")
        return
    columns = ("id", "created (UTC)", "model", "eval set", "accuracy", "format", "scored")
    rows = [
        (
            str(summary.evaluation_id)[:8],
            f"{summary.created_at:%Y-%m-%d %H:%M}",
            summary.model.name,
            summary.evalset,
            None
            if summary.primary_score is None
            else f"{summary.primary_score:.1%} ({summary.low:.1%}–{summary.high:.1%})",
            None if summary.format_adherence is None else f"{summary.format_adherence:.1%}",
            f"{summary.num_scored:,}",
        )
        for summary in page.data
    ]
    print_table(columns, rows)
    note(f"{len(page.data)} of {page.pagination.total}")


def show_record(reference: Reference, as_json: JsonFlag = False) -> None:
    """Show an evaluation: its scores, a correct and a wrong example."""
    with opened_home() as home:
        evaluation = find_evaluation(home, reference)
        if as_json:
            print_json(evaluation.to_json())
        else:
            print_evaluation(evaluation, load_predictions(home, evaluation), None)


def items(
    reference: Reference,
    verdict: Annotated[Verdict | None, typer.Option(help="Only with this verdict.")] = None,
    section: Annotated[str | None, typer.Option(help="Only of this section.")] = None,
    category: Annotated[str | None, typer.Option(help="Only of this category.")] = None,
    difficulty: Annotated[str | None, typer.Option(help="Only of this difficulty.")] = None,
    rule: Annotated[ExtractionRule | None, typer.Option(help="Only answers that this rule found.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Part of the prompt, the expected answer or the completion.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="Show every completion of this item.")] = None,
    limit: RecordLimit = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the items of an evaluation with their verdicts, in the order of the eval set."""
    criteria = PredictionFilter(
        verdict=verdict, section=section, category=category, difficulty=difficulty, rule=rule, text=text
    )
    with opened_home() as home:
        evaluation = find_evaluation(home, reference)
        if item is not None:
            samples = [one for one in load_predictions(home, evaluation) if one.item_id == item]
            if not samples:
                raise NotFoundError(
                    f"The evaluation has no item {item!r}.", next_step="Omit --item to list the items."
                )
            if as_json:
                print_json([sample.to_json() for sample in samples])
                return
            for sample in samples:
                say(f"{item}, sample {sample.sample}")
                print_prediction(sample)
            return
        page = EvaluationRepository(home.database).predictions(
            evaluation.evaluation_id, criteria, limit=limit, offset=0
        )
    if as_json:
        print_json([prediction.to_json() for prediction in page.data])
        return
    columns = ("item", "section", "difficulty", "expected", "answer", "verdict", "why")
    rows = [
        (
            f"{one.item_id} #{one.sample}" if one.sample else one.item_id,
            one.section,
            one.difficulty,
            one.expected_answer,
            one.judgement.answer,
            one.judgement.verdict,
            one.judgement.explanation,
        )
        for one in page.data
    ]
    print_table(columns, rows)
    note(f"{len(page.data)} of {page.pagination.total}")


def add(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a complete evaluation.")],
    as_json: JsonFlag = False,
) -> None:
    """Add an evaluation from a directory, e.g. from another machine or after a crash."""
    with opened_home() as home:
        evaluation = add_directory(home, directory)
    if as_json:
        print_json(evaluation.to_json())
    else:
        say(f"stored {evaluation.evaluation_id}: {evaluation.model.name} on {evaluation.evalset}")


def rm(reference: Reference, as_json: JsonFlag = False) -> None:
    """Delete an evaluation and its predictions; a run keeps its own copy."""
    with opened_home() as home:
        evaluation = find_evaluation(home, reference)
        delete_evaluation(home, evaluation.evaluation_id)
    if as_json:
        print_json({"removed": str(evaluation.evaluation_id)})
    else:
        say(f"removed {evaluation.evaluation_id}: {evaluation.model.name} on {evaluation.evalset}")


To = Annotated[Path, typer.Option("--to", metavar="DIR", help="Directory for the two files.")]


def export(reference: Reference, to: To, as_json: JsonFlag = False) -> None:
    """Export `samples_*.jsonl`, one line per item, and `results_*.json`."""
    with opened_home() as home:
        samples, results = export_evaluation(home, find_evaluation(home, reference), to)
    if as_json:
        print_json({"samples": str(samples), "results": str(results)})
    else:
        say(f"{samples}\n{results}")


def rescore(reference: Reference, as_json: JsonFlag = False) -> None:
    """Judge the stored completions of an evaluation again; the result is a new evaluation."""
    with opened_home() as home:
        before = find_evaluation(home, reference)
        after = rescore_evaluation(home, before, directory=named_directory(reference))
        num_changed = num_changed_verdicts(home, before, after)
    if as_json:
        print_json({"num_changed_verdicts": num_changed, **after.to_json()})
        return
    say(f"{counted(num_changed, 'verdict')} changed")
    say(f"before {before.evaluation_id}  {_accuracy(before)}")
    say(f"after  {after.evaluation_id}  {_accuracy(after)}")
    for difference in before.protocol.differences(after.protocol):
        say(f"       {difference}")


def score(
    predictions: Annotated[
        Path,
        typer.Option(metavar="FILE", help='JSONL of {"id", "prediction"}, one line per item.'),
    ],
    eval_set: EvalSet,
    markup: Annotated[MarkupStyle, typer.Option(help="Markup of reasoning and answer.")] = DEFAULT_MARKUP,
    lenient: Lenient = False,
    name: Annotated[str | None, typer.Option(help="Name of the model. Default: the file name.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Score external predictions."""
    with opened_home() as home:
        evaluation = score_predictions(
            home, predictions, eval_set, markup=markup, is_lenient=lenient, name=name
        )
        print_result(home, evaluation, evaluation_dir(home.settings, evaluation).path, as_json=as_json)


def _accuracy(evaluation: Evaluation) -> str:
    accuracy = evaluation.scores.overall.accuracy
    return "nothing could be scored" if accuracy is None else str(accuracy)
