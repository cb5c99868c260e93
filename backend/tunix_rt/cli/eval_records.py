"""`tunix-rt eval list | show | items | add | rm`: the evaluations that there are."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import note, print_json, print_table, say
from tunix_rt.cli.eval_view import print_evaluation, print_prediction
from tunix_rt.core.evaluation.prediction import Prediction, Verdict
from tunix_rt.core.evaluation.protocol import ExtractionRule
from tunix_rt.core.evaluation.store_types import EvaluationFilter, PredictionFilter
from tunix_rt.models.types import EvaluationSummary
from tunix_rt.services.evaluations import (
    add_directory,
    delete_evaluation,
    find_evaluation,
    list_evaluations,
    list_predictions,
    load_predictions,
)

Reference = Annotated[
    str,
    typer.Argument(metavar="REF", help="Id of an evaluation or its beginning, id of a run, or a directory."),
]
Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Rows to show.")]
_SHORT = 8


def list_(
    model: Annotated[str | None, typer.Option(help="Stands in the name of the model or its base.")] = None,
    eval_set: Annotated[str | None, typer.Option(help="Name of the eval set.")] = None,
    dataset: Annotated[str | None, typer.Option(help="What the model was trained on.")] = None,
    recipe: Annotated[str | None, typer.Option(help="Stands in the name of the recipe.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", help="Id of the run.")] = None,
    limit: Limit = 20,
    as_json: JsonFlag = False,
) -> None:
    """The evaluations, newest first."""
    criteria = EvaluationFilter(model=model, evalset=eval_set, dataset=dataset, recipe=recipe, run_id=run_id)
    with opened_home() as home:
        page = list_evaluations(home, criteria, limit=limit, offset=0)
    if as_json:
        print_json([summary.to_json() for summary in page.data])
        return
    if not page.data:
        say("No evaluation fits. Make one: tunix-rt eval MODEL --eval-set eval_v2")
        return
    columns = ("id", "made (UTC)", "model", "eval set", "accuracy", "format", "scored")
    print_table(columns, [_row(summary) for summary in page.data])
    note(f"{len(page.data)} of {page.pagination.total}")


def show(reference: Reference, as_json: JsonFlag = False) -> None:
    """One evaluation: its scores, an example of right and one of wrong work."""
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
    text: Annotated[str | None, typer.Option(help="Stands in the prompt, the answer or the text.")] = None,
    item: Annotated[str | None, typer.Option(help="Show all that was written for this item.")] = None,
    limit: Limit = 20,
    as_json: JsonFlag = False,
) -> None:
    """The items of an evaluation with their verdicts, in the order of the eval set."""
    criteria = PredictionFilter(
        verdict=verdict, section=section, category=category, difficulty=difficulty, rule=rule, text=text
    )
    with opened_home() as home:
        evaluation = find_evaluation(home, reference)
        if item is not None:
            samples = [one for one in load_predictions(home, evaluation) if one.item_id == item]
            _print_samples(samples, item, as_json=as_json)
            return
        page = list_predictions(home, evaluation.evaluation_id, criteria, limit=limit, offset=0)
    if as_json:
        print_json([prediction.to_json() for prediction in page.data])
        return
    columns = ("item", "section", "difficulty", "expected", "answer", "verdict", "why")
    print_table(columns, [_item_row(prediction) for prediction in page.data])
    note(f"{len(page.data)} of {page.pagination.total}")


def add(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a complete evaluation.")],
    as_json: JsonFlag = False,
) -> None:
    """Store an evaluation that lies in a directory, as another machine or a crash left it."""
    with opened_home() as home:
        evaluation = add_directory(home, directory)
    if as_json:
        print_json(evaluation.to_json())
    else:
        say(f"stored {evaluation.evaluation_id}: {evaluation.model.name} on {evaluation.evalset}")


def rm(reference: Reference, as_json: JsonFlag = False) -> None:
    """Remove an evaluation with its predictions; a run keeps its own copy."""
    with opened_home() as home:
        evaluation = find_evaluation(home, reference)
        delete_evaluation(home, evaluation.evaluation_id)
    if as_json:
        print_json({"removed": str(evaluation.evaluation_id)})
    else:
        say(f"removed {evaluation.evaluation_id}: {evaluation.model.name} on {evaluation.evalset}")


def _row(summary: EvaluationSummary) -> tuple[object, ...]:
    accuracy = None
    if summary.primary_score is not None:
        accuracy = f"{summary.primary_score:.1%} ({summary.low:.1%}–{summary.high:.1%})"
    return (
        str(summary.evaluation_id)[:_SHORT],
        f"{summary.created_at:%Y-%m-%d %H:%M}",
        summary.model.name,
        summary.evalset,
        accuracy,
        None if summary.format_adherence is None else f"{summary.format_adherence:.1%}",
        f"{summary.num_scored:,}",
    )


def _item_row(prediction: Prediction) -> tuple[object, ...]:
    judgement = prediction.judgement
    sample = f" #{prediction.sample}" if prediction.sample else ""
    return (
        prediction.item_id + sample,
        prediction.section,
        prediction.difficulty,
        prediction.expected_answer,
        judgement.answer,
        judgement.verdict,
        judgement.explanation,
    )


def _print_samples(samples: list[Prediction], item: str, *, as_json: bool) -> None:
    if not samples:
        raise NotFoundError(
            f"The evaluation has no item {item!r}.", next_step="Leave --item out to see the items."
        )
    if as_json:
        print_json([sample.to_json() for sample in samples])
        return
    for sample in samples:
        say(f"{item}, sample {sample.sample}")
        print_prediction(sample)
