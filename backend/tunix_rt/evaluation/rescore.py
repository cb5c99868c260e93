"""Score existing texts again, or external predictions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ID_KEYS = ("item_id", "id", "trace_id")
TEXT_KEYS = ("text", "prediction")


def read_external_predictions(path: Path) -> list[Generation]:
    """The texts of a file, in its order. What else a line says is not needed.

    Example:
        {"id": "sum-1", "prediction": "<answer>8</answer>"}

    Raises:
        NotFoundError: There is no such file.
        DataError: names every line without an id or a text, or whose id came before.
    """
    if not path.is_file():
        raise NotFoundError(f"There is no file {path}.", next_step="Check the path after --predictions.")
    texts: dict[str, Generation] = {}
    problems: list[str] = []
    with path.open("rb") as file:
        for row in read_jsonl(file):
            if isinstance(row, BlankLine):
                continue
            found = row.reason if isinstance(row, BadRow) else _read(row.values)
            if isinstance(found, Generation) and found.item_id in texts:
                found = f"a second text for {found.item_id!r}"
            if isinstance(found, str):
                problems.append(f"line {row.number}: {found}")
            else:
                texts[found.item_id] = found
    if problems:
        raise DataError(
            f"{path.name} cannot be scored: {first_problems(problems)}.",
            next_step='Write one line an item: {"id": "…", "prediction": "…"}.',
        )
    return list(texts.values())


def _read(values: Mapping[str, Any]) -> Generation | str:
    """The text of a line, or what is wrong with the line."""
    item_id = next((values[key] for key in ID_KEYS if key in values), None)
    text = next((values[key] for key in TEXT_KEYS if key in values), None)
    if not isinstance(item_id, str) or not item_id:
        return f"no item: one of {', '.join(ID_KEYS)} must be a text"
    if not isinstance(text, str):
        return f"no text: one of {', '.join(TEXT_KEYS)} must be a text"
    # Nothing says how it ended; a text from elsewhere is taken to be whole.
    return Generation(item_id=item_id, text=text, finish="end-of-turn")


@dataclass(frozen=True)
class ExternalPredictions:
    """A file of texts that no model of ours wrote, and what they answer."""

    file: Path
    evalset: str
    """Name or file."""
    markup: MarkupStyle = DEFAULT_MARKUP
    is_lenient: bool = False
    name: str | None = None
    """Of the model. None: the file's own."""


def rescore(home: Home, evaluation: Evaluation, *, directory: Path | None = None) -> Evaluation:
    """A new evaluation of the same texts, by the extractor and the checkers of today.

    Args:
        home: where the texts are and the new evaluation goes.
        evaluation: as it is stored.
        directory: where its files are, if not in the home directory.

    Raises:
        ConflictError: The items that were asked are nowhere to be found.
    """
    items = load_items(home.settings, evaluation, directory)
    require_checkers(items)
    today = {"max_answer_chars": MAX_ANSWER_CHARS, "versions": protocol_versions(items)}
    start = EvaluationStart(
        evaluation_id=uuid4(),
        created_at=datetime.now(UTC),
        model=evaluation.model,
        evalset=evaluation.evalset,
        protocol=evaluation.protocol.model_copy(update=today),
        rescored_from=evaluation.evaluation_id,
    )
    texts = [prediction.generation for prediction in load_predictions(home, evaluation)]
    return _scored(home, start, items, texts, evaluation.generation)


def score_predictions(home: Home, texts: ExternalPredictions) -> Evaluation:
    """Judge texts from elsewhere: exactly one for every item of the eval set.

    How they were made is not known: the template hash is empty, so that they are comparable with other texts
    from elsewhere, never with what a model wrote here.

    Raises:
        DataError: A line cannot be read, or an item has no text or several.
    """
    evalset = open_evalset(home.settings, texts.evalset)
    require_checkers(evalset.items)
    written = read_external_predictions(texts.file)
    _require_one_each(written, evalset.items, texts.file)
    protocol = Protocol(
        evalset_hash=evalset.content_hash,
        template_hash="",
        markup=texts.markup,
        extraction=default_extraction(texts.markup, is_lenient=texts.is_lenient),
        max_answer_chars=MAX_ANSWER_CHARS,
        versions=protocol_versions(evalset.items),
    )
    start = EvaluationStart(
        evaluation_id=uuid4(),
        created_at=datetime.now(UTC),
        model=EvaluatedModel(name=texts.name or texts.file.stem, origin="predictions"),
        evalset=evalset.name,
        protocol=protocol,
    )
    return _scored(home, start, evalset.items, written, None)


def num_changed_verdicts(home: Home, before: Evaluation, after: Evaluation) -> int:
    """How many texts are judged otherwise than before."""
    old, new = load_predictions(home, before), load_predictions(home, after)
    return sum(a.judgement.verdict != b.judgement.verdict for a, b in zip(old, new, strict=True))


def _scored(
    home: Home,
    start: EvaluationStart,
    items: Sequence[EvalItem],
    texts: Sequence[Generation],
    figures: GenerationFigures | None,
) -> Evaluation:
    path = home.settings.evaluations_dir / str(start.evaluation_id)
    with write_directory_atomically(path, what="writing the evaluation") as place:
        directory = EvaluationDir(place)
        directory.begin(start, items)
        directory.write_generations(texts)
        evaluation = finish_evaluation(directory, start, figures)
    return publish_evaluation(home, EvaluationDir(path), run_of(home, evaluation))


def load_items(
    settings: Settings, evaluation: Evaluation, directory: Path | None = None
) -> tuple[EvalItem, ...]:
    """The items that were asked, wherever they still are: known by their hash.

    Raises:
        ConflictError: They are nowhere to be found.
    """
    for items in _candidates(settings, evaluation, directory):
        if evalset_hash(items) == evaluation.protocol.evalset_hash:
            return items
    raise ConflictError(
        f"The items of the evaluation {evaluation.evaluation_id} are not in the home directory, and there is "
        f"no eval set {evaluation.evalset!r} with the same ones.",
        next_step="Name the directory of the evaluation, which holds them in items.jsonl.",
    )


def _candidates(
    settings: Settings, evaluation: Evaluation, directory: Path | None
) -> Iterator[tuple[EvalItem, ...]]:
    kept = directory or settings.evaluations_dir / str(evaluation.evaluation_id)
    yield EvaluationDir(kept).read_items()
    try:
        evalset = open_evalset(settings, evaluation.evalset)
    except (NotFoundError, DataError):
        return  # there is none of this name, or no longer a good one
    yield evalset.first(evaluation.num_items).items


def _require_one_each(texts: Sequence[Generation], items: Sequence[EvalItem], file: Path) -> None:
    given, asked = {text.item_id for text in texts}, {item.id for item in items}
    problems = [f"no text for {name!r}" for name in sorted(asked - given)]
    problems += [f"no item {name!r} in the eval set" for name in sorted(given - asked)]
    if problems:
        raise DataError(
            f"{file.name} does not answer the eval set: {first_problems(problems)}.",
            next_step="Give exactly one text for every item of the eval set.",
        )
