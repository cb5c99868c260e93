"""Use cases around stored evaluations: find one by whatever names it, list, page through items, delete."""

import os
import re
import shutil
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, pagination
from tunix_rt.core.evaluation.prediction import Prediction
from tunix_rt.core.evaluation.record import Evaluation
from tunix_rt.core.evaluation.store_types import EvaluationFilter, EvaluationOrder, PredictionFilter
from tunix_rt.datasets.files import file_sha256
from tunix_rt.db.evaluations import MIN_PREFIX_CHARS, EvaluationRepository
from tunix_rt.files.evaluation_dirs import EVALUATION_FILE, EvaluationDir
from tunix_rt.models.store import ModelRepository, evaluations_of
from tunix_rt.models.types import EvaluationSummary, is_reference, parse_reference

_NUM_ID_DIGITS = 32
_ID_DIGITS = re.compile(rf"[0-9a-fA-F]{{{MIN_PREFIX_CHARS},{_NUM_ID_DIGITS}}}")
_MAX_SHOWN = 5


class EvaluationList(BaseModel):
    """A page of evaluations."""

    model_config = ConfigDict(frozen=True)
    data: tuple[EvaluationSummary, ...]
    pagination: Pagination


class PredictionList(BaseModel):
    """A page of what was written for the items of an evaluation, in the order of the eval set."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Prediction, ...]
    pagination: Pagination


class EvaluatedItem(BaseModel):
    """One item of an evaluation, with every sample that was drawn."""

    model_config = ConfigDict(frozen=True)
    evaluation_id: UUID
    item_id: str
    samples: tuple[Prediction, ...]


def find_evaluation(home: Home, reference: str) -> Evaluation:
    """The evaluation that a person means.

    Args:
        home: where it is looked up, and where one that is only on disk is added.
        reference: its id, the first 6 or more characters of it, the id of a run or a registered model as
            `name@alias` or `name:version` (its newest evaluation), or the path of an evaluation directory or
            of its `evaluation.json`.

    Raises:
        NotFoundError: nothing is called that; the error names what comes close.
        InvalidInputError: several ids begin like that.
        DataError: the files of the directory do not belong together.
    """
    evaluation_id = _by_id(home, reference)
    if evaluation_id is not None:
        return get_evaluation(home, evaluation_id)
    # os.path, not Path: a reference too long for a path is no path, and no error.
    if os.path.basename(reference) == EVALUATION_FILE and os.path.isfile(reference):
        return add_directory(home, Path(reference).parent)
    if os.path.isdir(reference):
        return add_directory(home, Path(reference))
    if is_reference(reference):
        return _newest_of_version(home, reference)
    raise _nothing_called(home, reference)


def _newest_of_version(home: Home, reference: str) -> Evaluation:
    version = ModelRepository(home.database).find(parse_reference(reference))
    found = evaluations_of(home.database, version)
    if not found:
        raise NotFoundError(
            f"{version.reference} has not been evaluated.",
            next_step=f"Evaluate it: tunix-rt eval {version.reference} --eval-set eval_v2",
        )
    return get_evaluation(home, found[0].evaluation_id)


def get_evaluation(home: Home, evaluation_id: UUID) -> Evaluation:
    """The evaluation with this id, or NotFoundError. One whose process died before storing it is added."""
    directory = EvaluationDir(home.settings.evaluations_dir / str(evaluation_id))
    if not EvaluationRepository(home.database).has(evaluation_id) and directory.evaluation.is_file():
        return add_directory(home, directory.path)
    return EvaluationRepository(home.database).get(evaluation_id)


def load_predictions(home: Home, evaluation: Evaluation) -> tuple[Prediction, ...]:
    """Every prediction of a found evaluation, in the order of the eval set."""
    return tuple(EvaluationRepository(home.database).iter_predictions(evaluation.evaluation_id))


def add_directory(home: Home, path: Path) -> Evaluation:
    """Store the evaluation of a complete directory, unless it is stored already.

    Raises:
        NotFoundError: there is no complete evaluation in the directory.
        DataError: its predictions are not those that the record is about.
        ConflictError: another evaluation is stored under its id.
    """
    directory = EvaluationDir(path)
    evaluation = directory.read_evaluation()
    if evaluation is None or not directory.predictions.is_file():
        raise NotFoundError(
            f"There is no complete evaluation in {path}.",
            next_step="Give the command that began it once more: it goes on where it stopped.",
        )
    EvaluationRepository(home.database).add(evaluation, _predictions_of(directory, evaluation))
    return evaluation


def _predictions_of(directory: EvaluationDir, evaluation: Evaluation) -> tuple[Prediction, ...]:
    """What the record was computed from, and nothing else."""
    if file_sha256(directory.predictions) != evaluation.predictions_hash:
        raise _edited(f"{directory.predictions} is not the file that {EVALUATION_FILE} was computed from.")
    predictions = tuple(directory.read_predictions())
    if len({(prediction.item_id, prediction.sample) for prediction in predictions}) < len(predictions):
        raise _edited(f"{directory.predictions} has the same sample of an item twice.")
    return predictions


def _edited(detail: str) -> DataError:
    return DataError(detail, next_step="Put back the original file, or evaluate again with another --output.")


def list_evaluations(
    home: Home,
    criteria: EvaluationFilter,
    *,
    limit: int,
    offset: int,
    order: EvaluationOrder = "newest",
) -> EvaluationList:
    """A page of the stored evaluations."""
    page = EvaluationRepository(home.database).list(criteria, limit=limit, offset=offset, order=order)
    return EvaluationList(data=page.data, pagination=pagination(limit, offset, len(page.data), page.total))


def list_predictions(
    home: Home, evaluation_id: UUID, criteria: PredictionFilter, *, limit: int, offset: int
) -> PredictionList:
    """A page of an evaluation's predictions, or NotFoundError."""
    page = EvaluationRepository(home.database).predictions(
        evaluation_id, criteria, limit=limit, offset=offset
    )
    return PredictionList(data=page.data, pagination=pagination(limit, offset, len(page.data), page.total))


def get_item(home: Home, evaluation_id: UUID, item_id: str) -> EvaluatedItem:
    """One item of an evaluation, or NotFoundError."""
    samples = EvaluationRepository(home.database).prediction(evaluation_id, item_id)
    return EvaluatedItem(evaluation_id=evaluation_id, item_id=item_id, samples=samples)


def delete_evaluation(home: Home, evaluation_id: UUID) -> None:
    """Remove an evaluation from the database and from the home directory; a run keeps its own copy.

    Raises:
        NotFoundError: there is none with this id.
        ConflictError: a baseline names it.
    """
    EvaluationRepository(home.database).delete(evaluation_id)
    directory = home.settings.evaluations_dir / str(evaluation_id)
    with storage_errors("removing the evaluation's directory"):
        if directory.is_dir():
            shutil.rmtree(directory)


def _by_id(home: Home, reference: str) -> UUID | None:
    if not reference.isprintable():
        return None
    of_run = EvaluationRepository(home.database).newest_of_run(reference)
    if of_run is not None:
        return of_run.evaluation_id
    digits = reference.replace("-", "")
    if not _ID_DIGITS.fullmatch(digits):
        return None
    if len(digits) == _NUM_ID_DIGITS:
        return UUID(hex=digits)
    found = EvaluationRepository(home.database).find_ids(digits)
    if len(found) > 1:
        raise InvalidInputError(
            f"{len(found)} evaluations begin with {reference!r}: {_shown([str(one) for one in found])}.",
            next_step="Give more characters of the id.",
        )
    return found[0] if found else None


def _nothing_called(home: Home, reference: str) -> NotFoundError:
    newest = EvaluationRepository(home.database).list(EvaluationFilter(), limit=_MAX_SHOWN, offset=0)
    if not newest.data:
        next_step = "Make one: tunix-rt eval MODEL --eval-set eval_v2"
    else:
        named = [f"{str(one.evaluation_id)[:8]} ({one.model.name}, {one.evalset})" for one in newest.data]
        next_step = f"Newest of {newest.total}: {_shown(named)}. All of them: tunix-rt eval list"
    return NotFoundError(
        f"There is no evaluation, evaluated run or evaluation directory {reference!r}.", next_step=next_step
    )


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
    return ", ".join(names[:_MAX_SHOWN]) + more
