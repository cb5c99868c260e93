"""`tunix-rt eval rescore` and `eval score`: texts that are there already, judged by the checkers of today."""

from pathlib import Path
from typing import Annotated

import typer

from tunix_rt.base.home import opened_home
from tunix_rt.base.terminal.options import JsonFlag
from tunix_rt.base.terminal.output import counted, print_json, say
from tunix_rt.cli.eval import EvalSet, Lenient, show
from tunix_rt.cli.eval_records import Reference
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.files.evaluation_dirs import EVALUATION_FILE
from tunix_rt.services.evaluating import evaluation_dir
from tunix_rt.services.evaluation_rescoring import ForeignTexts, num_changed_verdicts, score_texts
from tunix_rt.services.evaluation_rescoring import rescore as rescore_evaluation
from tunix_rt.services.evaluations import find_evaluation
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle


def rescore(reference: Reference, as_json: JsonFlag = False) -> None:
    """Judge the stored texts of an evaluation again; the result is a new evaluation."""
    with opened_home() as home:
        before = find_evaluation(home, reference)
        after = rescore_evaluation(home, before, directory=_directory(reference))
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
        typer.Option(metavar="FILE", help='JSONL of {"id", "prediction"}: one text for every item.'),
    ],
    eval_set: EvalSet,
    markup: Annotated[
        MarkupStyle, typer.Option(help="What stands around reasoning and answer.")
    ] = DEFAULT_MARKUP,
    lenient: Lenient = False,
    name: Annotated[str | None, typer.Option(help="Of the model. Default: that of the file.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Judge texts that something else wrote."""
    texts = ForeignTexts(predictions, eval_set, markup, is_lenient=lenient, name=name)
    with opened_home() as home:
        evaluation = score_texts(home, texts)
        show(home, evaluation, evaluation_dir(home.settings, evaluation).path, as_json=as_json)


def _directory(reference: str) -> Path | None:
    path = Path(reference)
    if path.name == EVALUATION_FILE:
        return path.parent
    return path if path.is_dir() else None


def _accuracy(evaluation: Evaluation) -> str:
    accuracy = evaluation.scores.overall.accuracy
    return "nothing could be scored" if accuracy is None else str(accuracy)
