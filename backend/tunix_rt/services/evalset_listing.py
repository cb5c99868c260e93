"""The eval sets that have a name: what each consists of, and its items page by page."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import shipped_evalset_names
from tunix_rt.base.records import Pagination, pagination
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import evalset_paths, named_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.evalset_report import validate_evalset


class EvalSetSummary(BaseModel):
    """An eval set and what it consists of."""

    model_config = ConfigDict(frozen=True)
    name: str
    is_shipped: bool
    """Inside the package; else one of the user's own, in the home directory."""
    is_valid: bool
    """False: it cannot be used; `tunix-rt data validate` says why."""
    num_items: int
    content_hash: str
    sections: dict[str, int]
    categories: dict[str, int]
    difficulties: dict[str, int]


class EvalSetList(BaseModel):
    """Every eval set that has a name, by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[EvalSetSummary, ...]


class EvalSetDetail(BaseModel):
    """An eval set with a page of its items."""

    model_config = ConfigDict(frozen=True)
    evalset: EvalSetSummary
    data: tuple[EvalItem, ...]
    pagination: Pagination


def list_evalsets(settings: Settings) -> EvalSetList:
    """The shipped eval sets and the user's own, also those that cannot be used."""
    paths = evalset_paths(settings)
    return EvalSetList(data=tuple(_summary(name, path) for name, path in sorted(paths.items())))


def get_evalset(settings: Settings, name: str, *, limit: int, offset: int) -> EvalSetDetail:
    """An eval set with a page of its items.

    Raises:
        NotFoundError: nothing has this name.
        DataError: it cannot be used.
    """
    items = named_evalset(settings, name).items
    page = items[offset : offset + limit]
    return EvalSetDetail(
        evalset=_summary(name, evalset_paths(settings)[name]),
        data=page,
        pagination=pagination(limit, offset, len(page), len(items)),
    )


def _summary(name: str, path: Path) -> EvalSetSummary:
    report = validate_evalset(path)
    return EvalSetSummary(
        name=name,
        is_shipped=name in shipped_evalset_names(),
        is_valid=report.is_valid,
        num_items=report.num_items,
        content_hash=report.content_hash,
        sections=report.sections,
        categories=report.categories,
        difficulties=report.difficulties,
    )
