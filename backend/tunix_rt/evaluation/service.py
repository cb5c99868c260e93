"""Find, list, page through items, delete, export to the format of lm-evaluation-harness.

samples_<eval set>_<time>.jsonl   one line per item: document, prompt, completions, filtered answers, verdict
results_<time>.json               the scores by task
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, write_atomically, write_json_atomically
from tunix_rt.base.home import Home
from tunix_rt.datasets.files import file_sha256
from tunix_rt.engines.types import Decoding
from tunix_rt.evaluation.files import EVALUATION_FILE, EvaluationDir
from tunix_rt.evaluation.store import MIN_PREFIX_CHARS, EvaluationRepository
from tunix_rt.evaluation.types import (
    Evaluation,
    EvaluationFilter,
    Prediction,
)
from tunix_rt.models.store import ModelRepository, evaluations_of
from tunix_rt.models.types import is_reference, parse_reference

_NUM_ID_DIGITS = 32
_ID_DIGITS = re.compile(rf"[0-9a-fA-F]{{{MIN_PREFIX_CHARS},{_NUM_ID_DIGITS}}}")
_MAX_SHOWN = 5
_RESTORE = "Restore the original file, or evaluate again with another --output."


class EvaluatedItem(BaseModel):
    """One item of an evaluation with all of its samples."""

    model_config = ConfigDict(frozen=True)
    evaluation_id: UUID
    item_id: str
    samples: tuple[Prediction, ...]


def find_evaluation(home: Home, reference: str) -> Evaluation:
    """The evaluation that a user refers to.

    Args:
        home: where it is looked up, and where an evaluation that exists only on disk is stored.
        reference: its id or at least the first 6 characters of it, a run id, a registered model as
            `name@alias` or `name:version` (these mean the newest evaluation), or the path of an evaluation
            directory or of its `evaluation.json`.

    Raises:
        NotFoundError: nothing matches; the error lists the newest evaluations.
        InvalidInputError: several ids begin with the reference.
        DataError: the files of the directory do not belong together.
    """
    evaluation_id = _find_id(home, reference)
    if evaluation_id is not None:
        return get_evaluation(home, evaluation_id)
    if (directory := named_directory(reference)) is not None:
        return add_directory(home, directory)
    if is_reference(reference):
        version = ModelRepository(home.database).find(parse_reference(reference))
        evaluations = evaluations_of(home.database, version)
        if not evaluations:
            raise NotFoundError(
                f"{version.reference} has not been evaluated.",
                next_step=f"Evaluate it: tunix-rt eval {version.reference} --eval-set eval_v2",
            )
        return get_evaluation(home, evaluations[0].evaluation_id)
    newest = EvaluationRepository(home.database).list(EvaluationFilter(), limit=_MAX_SHOWN, offset=0)
    next_step = "Create one: tunix-rt eval MODEL --eval-set eval_v2"
    if newest.data:
        named = [f"{str(one.evaluation_id)[:8]} ({one.model.name}, {one.evalset})" for one in newest.data]
        next_step = f"Newest of {newest.pagination.total}: {', '.join(named)}. List all: tunix-rt eval list"
    raise NotFoundError(
        f"There is no evaluation, evaluated run or evaluation directory {reference!r}.", next_step=next_step
    )


def named_directory(reference: str) -> Path | None:
    """The directory that a path names, itself or by its `evaluation.json`; None if it does not exist."""
    # os.path, not Path: Path raises for a reference that is too long to be a path.
    if os.path.basename(reference) == EVALUATION_FILE and os.path.isfile(reference):
        return Path(reference).parent
    return Path(reference) if os.path.isdir(reference) else None


def _find_id(home: Home, reference: str) -> UUID | None:
    """The id that a run id, an id or the beginning of one stands for."""
    if not reference.isprintable():
        return None
    repository = EvaluationRepository(home.database)
    of_run = repository.newest_of_run(reference)
    if of_run is not None:
        return of_run.evaluation_id
    digits = reference.replace("-", "")
    if not _ID_DIGITS.fullmatch(digits):
        return None
    if len(digits) == _NUM_ID_DIGITS:
        return UUID(hex=digits)
    ids = repository.find_ids(digits)
    if len(ids) > 1:
        shown = ", ".join(map(str, ids[:_MAX_SHOWN]))
        more = f" and {len(ids) - _MAX_SHOWN} more" if len(ids) > _MAX_SHOWN else ""
        raise InvalidInputError(
            f"{len(ids)} evaluations begin with {reference!r}: {shown}{more}.",
            next_step="Give more characters of the id.",
        )
    return ids[0] if ids else None


def get_evaluation(home: Home, evaluation_id: UUID) -> Evaluation:
    """The evaluation with this id, or NotFoundError.

    An evaluation whose process died before storing it is added from its directory.
    """
    repository = EvaluationRepository(home.database)
    directory = EvaluationDir(home.settings.evaluations_dir / str(evaluation_id))
    if not repository.has(evaluation_id) and directory.evaluation.is_file():
        return add_directory(home, directory.path)
    return repository.get(evaluation_id)


def load_predictions(home: Home, evaluation: Evaluation) -> tuple[Prediction, ...]:
    """Every prediction of a stored evaluation, in the order of the eval set."""
    return tuple(EvaluationRepository(home.database).iter_predictions(evaluation.evaluation_id))


def add_directory(home: Home, path: Path) -> Evaluation:
    """Store the evaluation of a complete directory, unless it is stored already.

    Raises:
        NotFoundError: the directory holds no complete evaluation.
        DataError: its predictions are not those that the record was computed from.
        ConflictError: another evaluation is stored under its id.
    """
    directory = EvaluationDir(path)
    evaluation = directory.read_evaluation()
    if evaluation is None or not directory.predictions.is_file():
        raise NotFoundError(
            f"There is no complete evaluation in {path}.",
            next_step="Run the command that created it again: it resumes where it stopped.",
        )
    if file_sha256(directory.predictions) != evaluation.predictions_hash:
        problem = f"is not the file that {EVALUATION_FILE} was computed from"
        raise DataError(f"{directory.predictions} {problem}.", next_step=_RESTORE)
    predictions = tuple(directory.read_predictions())
    if len({(prediction.item_id, prediction.sample) for prediction in predictions}) < len(predictions):
        problem = "has the same sample of an item twice"
        raise DataError(f"{directory.predictions} {problem}.", next_step=_RESTORE)
    EvaluationRepository(home.database).add(evaluation, predictions)
    return evaluation


def delete_evaluation(home: Home, evaluation_id: UUID) -> None:
    """Delete an evaluation from the database and from the home directory; a run keeps its own copy.

    Raises:
        NotFoundError: there is none with this id.
        ConflictError: a baseline names it.
    """
    EvaluationRepository(home.database).delete(evaluation_id)
    directory = home.settings.evaluations_dir / str(evaluation_id)
    with storage_errors("removing the evaluation's directory"):
        if directory.is_dir():
            shutil.rmtree(directory)


METRIC = "exact_match"
FILTER = "extracted"
_UNSAFE_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def export_evaluation(home: Home, evaluation: Evaluation, directory: Path) -> tuple[Path, Path]:
    """Write both files and return their paths, samples first."""
    task = _UNSAFE_IN_NAMES.sub("-", evaluation.evalset)
    moment = evaluation.created_at.replace(tzinfo=None).isoformat().replace(":", "-")
    samples = directory / f"samples_{task}_{moment}.jsonl"
    results = directory / f"results_{moment}.json"
    lines = list(_samples(home, evaluation))
    with write_atomically(samples, what="exporting the samples") as file:
        file.writelines(f"{_dump(line)}\n".encode() for line in lines)
    write_json_atomically(results, results_json(evaluation, task, lines), what="exporting the results")
    return samples, results


def iter_samples(home: Home, evaluation: Evaluation) -> Iterator[str]:
    """The lines of the samples file, in the order of the eval set."""
    return map(_dump, _samples(home, evaluation))


def _samples(home: Home, evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    predictions = EvaluationRepository(home.database).iter_predictions(evaluation.evaluation_id)
    by_item = groupby(predictions, key=lambda prediction: prediction.item_id)
    for number, (_, samples) in enumerate(by_item):
        yield sample_json(number, list(samples), evaluation.protocol.decoding)


def sample_json(number: int, samples: list[Prediction], decoding: Decoding) -> dict[str, Any]:
    """One item with its completions. An item that could not be scored has no `exact_match`."""
    first = samples[0]
    document = {
        "id": first.item_id,
        "prompt": first.prompt,
        "expected_answer": first.expected_answer,
        "section": first.section,
        "category": first.category,
        "difficulty": first.difficulty,
    }
    scored = [sample.judgement for sample in samples if sample.judgement.is_scored]
    share_correct = fmean(judgement.is_correct for judgement in scored) if scored else None
    return {
        "doc_id": number,
        "doc": document,
        "target": first.expected_answer,
        "arguments": {"gen_args_0": {"arg_0": first.prompt, "arg_1": _generation_kwargs(decoding)}},
        "resps": [[sample.generation.text or "" for sample in samples]],
        "filtered_resps": [sample.judgement.answer or "" for sample in samples],
        "filter": FILTER,
        "metrics": [METRIC],
        "doc_hash": _sha256(json.dumps(document, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha256(first.prompt),
        "target_hash": _sha256(first.expected_answer),
        **({} if share_correct is None else {METRIC: share_correct}),
    }


def results_json(evaluation: Evaluation, task: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The scores of the evaluation as those of one task."""
    values = [sample[METRIC] for sample in samples if METRIC in sample]
    scores: dict[str, Any] = {"alias": task}
    if values:
        scores[f"{METRIC},{FILTER}"] = fmean(values)
    if len(values) > 1:
        scores[f"{METRIC}_stderr,{FILTER}"] = stdev(values) / len(values) ** 0.5
    hashes = [sample[name] for sample in samples for name in ("doc_hash", "prompt_hash", "target_hash")]
    return {
        "results": {task: scores},
        "configs": {
            task: {
                "task": task,
                "output_type": "generate_until",
                "generation_kwargs": _generation_kwargs(evaluation.protocol.decoding),
                "repeats": evaluation.protocol.decoding.num_samples,
                "num_fewshot": 0,
            }
        },
        "n-shot": {task: 0},
        "higher_is_better": {task: {METRIC: True}},
        "n-samples": {task: {"original": evaluation.num_items, "effective": evaluation.num_items}},
        "date": evaluation.created_at.timestamp(),
        "model_name": evaluation.model.name,
        "task_hashes": {task: _sha256("".join(hashes))},
    }


def _generation_kwargs(decoding: Decoding) -> dict[str, Any]:
    return {
        "do_sample": decoding.temperature > 0,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "max_gen_toks": decoding.max_new_tokens,
    }


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
