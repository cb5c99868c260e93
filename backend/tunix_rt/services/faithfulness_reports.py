"""The faithfulness reports of the home directory: which there are, and each of them whole."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.core.evaluation.faithfulness import FaithfulnessReport, FaithfulnessSetup, GroupFaithfulness
from tunix_rt.models.types import EvaluatedModel
from tunix_rt.services.faithfulness import REPORT_FILE


class FaithfulnessSummary(Record):
    """What a list shows of a report."""

    report_id: UUID
    created_at: datetime
    setup: FaithfulnessSetup
    num_items: int
    """Items that were drawn and asked."""
    overall: GroupFaithfulness


class FaithfulnessList(BaseModel):
    """Reports, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[FaithfulnessSummary, ...]


def list_reports(settings: Settings, model: EvaluatedModel | None = None) -> FaithfulnessList:
    """The reports that are there, of one model or of all."""
    found = [_summary(report_id, _read(path)) for report_id, path in _paths(settings.faithfulness_dir)]
    chosen = [one for one in found if model is None or _is_same(one.setup.model, model)]
    return FaithfulnessList(data=tuple(sorted(chosen, key=lambda one: one.created_at, reverse=True)))


def get_report(settings: Settings, report_id: UUID) -> FaithfulnessReport:
    """A report with every trial, or NotFoundError."""
    path = settings.faithfulness_dir / str(report_id) / REPORT_FILE
    if not path.is_file():
        raise NotFoundError(
            f"There is no faithfulness report {report_id}.",
            next_step="Make one: tunix-rt eval faithfulness MODEL --eval-set NAME",
        )
    return _read(path)


def _paths(directory: Path) -> Iterator[tuple[UUID, Path]]:
    for path in directory.glob(f"*/{REPORT_FILE}"):
        try:
            yield UUID(path.parent.name), path
        except ValueError:
            continue  # not ours: reports of the home directory are named by their id


def _read(path: Path) -> FaithfulnessReport:
    with storage_errors("reading the report"):
        content = path.read_bytes()
    try:
        return FaithfulnessReport.model_validate_json(content)
    except ValidationError as error:
        raise DataError(
            f"{path} is no faithfulness report that this version can read.",
            next_step="Put back the original file, or remove its directory and measure again.",
        ) from error


def _summary(report_id: UUID, report: FaithfulnessReport) -> FaithfulnessSummary:
    return FaithfulnessSummary(
        report_id=report_id,
        created_at=report.created_at,
        setup=report.setup,
        num_items=report.num_items,
        overall=report.overall,
    )


def _is_same(one: EvaluatedModel, other: EvaluatedModel) -> bool:
    """The same weights; where either was not hashed, what was asked for by the same name."""
    if one.weights_hash is not None and other.weights_hash is not None:
        return one.weights_hash == other.weights_hash
    return _asked_for(one) == _asked_for(other)


def _asked_for(model: EvaluatedModel) -> tuple[object, ...]:
    return model.name, model.origin, model.weights, model.seed
