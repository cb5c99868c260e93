"""Rescore stored completions; score external predictions."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError, first_problems
from tunix_rt.base.files.atomic import write_directory_atomically
from tunix_rt.base.files.jsonl import BadRow, BlankLine, read_jsonl
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import open_evalset
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.evaluate import finish_evaluation, publish_evaluation, run_of
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.scoring.checkers.check import require_checkers
from tunix_rt.evaluation.scoring.extraction import MAX_ANSWER_CHARS
from tunix_rt.evaluation.scoring.judgement import protocol_versions
from tunix_rt.evaluation.service import load_predictions
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationStart,
    Generation,
    GenerationFigures,
    Protocol,
    default_extraction,
)
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.traces.types import MarkupStyle

ID_KEYS = ("item_id", "id", "trace_id")
TEXT_KEYS = ("text", "prediction")


def read_external_predictions(path: Path) -> list[Generation]:
    """The completions in a JSONL file, in order. Other keys are ignored.

    Example:
        {"id": "sum-1", "prediction": "<answer>8</answer>"}

    Raises:
        NotFoundError: There is no such file.
        DataError: names every line without an id or a text, and every repeated id.
    """
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.", next_step="Check the path after --predictions.")
    completions: dict[str, Generation] = {}
    problems: list[str] = []
    with path.open("rb") as file:
        for row in read_jsonl(file):
            if isinstance(row, BlankLine):
                continue
            parsed = row.reason if isinstance(row, BadRow) else _parse(row.values)
            if isinstance(parsed, Generation) and parsed.item_id in completions:
                parsed = f"a second text for {parsed.item_id!r}"
            if isinstance(parsed, str):
                problems.append(f"line {row.number}: {parsed}")
            else:
                completions[parsed.item_id] = parsed
    if problems:
        raise DataError(
            f"{path.name} cannot be scored: {first_problems(problems)}.",
            next_step='Write one line per item: {"id": "…", "prediction": "…"}.',
        )
    return list(completions.values())


def _parse(values: Mapping[str, Any]) -> Generation | str:
    """The completion of a line, or the problem with the line."""
    item_id = next((values[key] for key in ID_KEYS if key in values), None)
    text = next((values[key] for key in TEXT_KEYS if key in values), None)
    if not isinstance(item_id, str) or not item_id:
        return f"no item: one of {', '.join(ID_KEYS)} must be a text"
    if not isinstance(text, str):
        return f"no text: one of {', '.join(TEXT_KEYS)} must be a text"
    # How it ended is unknown; external predictions are assumed to be complete.
    return Generation(item_id=item_id, text=text, finish="end-of-turn")


def rescore(home: Home, evaluation: Evaluation, *, directory: Path | None = None) -> Evaluation:
    """A new evaluation of the same completions with the current extractor and checkers.

    Args:
        home: holds the completions and receives the new evaluation.
        evaluation: the stored evaluation.
        directory: that of its files, if it is not in the home directory.

    Raises:
        ConflictError: The items are no longer available.
    """
    items = load_items(home.settings, evaluation, directory)
    require_checkers(items)
    current = {"max_answer_chars": MAX_ANSWER_CHARS, "versions": protocol_versions(items)}
    start = EvaluationStart(
        evaluation_id=uuid4(),
        created_at=datetime.now(UTC),
        model=evaluation.model,
        evalset=evaluation.evalset,
        protocol=evaluation.protocol.model_copy(update=current),
        rescored_from=evaluation.evaluation_id,
    )
    completions = [prediction.generation for prediction in load_predictions(home, evaluation)]
    return _create(home, start, items, completions, evaluation.generation)


def score_predictions(
    home: Home,
    file: Path,
    evalset_name: str,
    *,
    markup: MarkupStyle,
    is_lenient: bool,
    name: str | None,
) -> Evaluation:
    """Judge external predictions: exactly one for every item of the eval set.

    Their chat template is unknown. The template hash is empty, so they are comparable with other external
    predictions but never with completions generated here. The model is named after the file by default.

    Raises:
        DataError: A line is invalid, or an item has no prediction or several.
    """
    evalset = open_evalset(home.settings, evalset_name)
    require_checkers(evalset.items)
    completions = read_external_predictions(file)
    answered, expected = {text.item_id for text in completions}, {item.id for item in evalset.items}
    problems = [f"no text for {name!r}" for name in sorted(expected - answered)]
    problems += [f"no item {name!r} in the eval set" for name in sorted(answered - expected)]
    if problems:
        raise DataError(
            f"{file.name} does not match the eval set: {first_problems(problems)}.",
            next_step="Give exactly one text for every item of the eval set.",
        )
    protocol = Protocol(
        evalset_hash=evalset.content_hash,
        template_hash="",
        markup=markup,
        extraction=default_extraction(markup, is_lenient=is_lenient),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(evalset.items),
    )
    start = EvaluationStart(
        evaluation_id=uuid4(),
        created_at=datetime.now(UTC),
        model=EvaluatedModel(name=name or file.stem, origin="predictions"),
        evalset=evalset.name,
        protocol=protocol,
    )
    return _create(home, start, evalset.items, completions, None)


def num_changed_verdicts(home: Home, before: Evaluation, after: Evaluation) -> int:
    """The number of completions whose verdict changed."""
    old, new = load_predictions(home, before), load_predictions(home, after)
    return sum(a.judgement.verdict != b.judgement.verdict for a, b in zip(old, new, strict=True))


def _create(
    home: Home,
    start: EvaluationStart,
    items: Sequence[EvalItem],
    completions: Sequence[Generation],
    figures: GenerationFigures | None,
) -> Evaluation:
    path = home.settings.evaluations_dir / str(start.evaluation_id)
    with write_directory_atomically(path, what="writing the evaluation") as temporary:
        directory = EvaluationDir(temporary)
        directory.begin(start, items)
        directory.write_generations(completions)
        evaluation = finish_evaluation(directory, start, figures)
    return publish_evaluation(home, EvaluationDir(path), run_of(home, evaluation))


def load_items(
    settings: Settings, evaluation: Evaluation, directory: Path | None = None
) -> tuple[EvalItem, ...]:
    """The items of an evaluation, from its directory or an eval set; they are identified by their hash.

    Raises:
        ConflictError: They are no longer available.
    """
    path = directory or settings.evaluations_dir / str(evaluation.evaluation_id)
    items = EvaluationDir(path).read_items()
    if evalset_hash(items) != evaluation.protocol.evalset_hash:
        with suppress(NotFoundError, DataError):  # there may be no valid eval set of this name
            items = open_evalset(settings, evaluation.evalset).first(evaluation.num_items).items
    if evalset_hash(items) == evaluation.protocol.evalset_hash:
        return items
    raise ConflictError(
        f"The items of the evaluation {evaluation.evaluation_id} are not in the home directory, and there is "
        f"no eval set {evaluation.evalset!r} with the same items.",
        next_step="Give the directory of the evaluation, which holds them in items.jsonl.",
    )
