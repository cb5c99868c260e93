"""Use cases around built datasets: list, look, page through rows, verify, delete."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.records import Pagination, explain_validation_error, pagination
from tunix_rt.base.settings import JOB_RECIPE_FILE, Settings
from tunix_rt.core.dataset import DatasetManifest, DatasetSummary, SplitFile, summarise
from tunix_rt.files.dataset_dirs import (
    dataset_exists,
    dataset_keys,
    delete_dataset_dir,
    file_sha256,
    iter_lines,
    read_card,
    read_manifest,
    split_path,
)
from tunix_rt.files.run_dirs import runs_using_dataset
from tunix_rt.services.shipped_datasets import ensure_shipped
from tunix_rt.traces.types import StoredTrace, Trace, trace_id

_MAX_RUNS_SHOWN = 5


class DatasetList(BaseModel):
    """A page of datasets by key."""

    model_config = ConfigDict(frozen=True)
    data: tuple[DatasetSummary, ...]
    damaged: tuple[str, ...]
    """Keys on this page whose manifest cannot be read; `data delete` removes them."""
    pagination: Pagination


class DatasetRow(BaseModel):
    """One row of a dataset."""

    model_config = ConfigDict(frozen=True)
    index: int
    """Position in the split, from 0."""
    trace_id: UUID
    trace: Trace


class RowPage(BaseModel):
    """A page of the rows of one split, in trace id order."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str
    split: str
    data: tuple[DatasetRow, ...]
    pagination: Pagination


def list_datasets(datasets_dir: Path, *, limit: int, offset: int, text: str | None = None) -> DatasetList:
    """A page of the complete datasets by key; of those whose key has `text` in it when it is given."""
    wanted = (text or "").strip().lower()
    keys = [key for key in dataset_keys(datasets_dir) if wanted in key.lower()]
    page = keys[offset : offset + limit]
    manifests = {key: _manifest_or_none(datasets_dir, key) for key in page}
    return DatasetList(
        data=tuple(summarise(manifest) for manifest in manifests.values() if manifest is not None),
        damaged=tuple(key for key, manifest in manifests.items() if manifest is None),
        pagination=pagination(limit, offset, len(page), len(keys)),
    )


def get_dataset(datasets_dir: Path, key: str) -> DatasetManifest:
    """The manifest of a dataset, or NotFoundError. A shipped dataset is there by its key."""
    ensure_shipped(datasets_dir, key)
    return read_manifest(datasets_dir, key)


def get_card(datasets_dir: Path, key: str) -> str:
    """The dataset card as Markdown, or NotFoundError."""
    get_dataset(datasets_dir, key)
    return read_card(datasets_dir, key)


def chosen_split(manifest: DatasetManifest, name: str | None) -> SplitFile:
    """The split of that name, the first one when none is named, or NotFoundError."""
    split = manifest.splits[0] if name is None else manifest.split(name)
    if split is None:
        raise NotFoundError(
            f"The dataset {manifest.dataset_key!r} has no split {name!r}.",
            next_step=f"Choose one of: {', '.join(split.name for split in manifest.splits)}.",
        )
    return split


def read_rows(datasets_dir: Path, key: str, *, split: str | None, limit: int, offset: int) -> RowPage:
    """A page of the rows of one split."""
    chosen = chosen_split(get_dataset(datasets_dir, key), split)
    lines = islice(iter_lines(datasets_dir, key, chosen.name), offset, offset + limit)
    rows = tuple(
        DatasetRow(index=index, trace_id=trace_id(line), trace=_trace(key, line))
        for index, line in enumerate(lines, start=offset)
    )
    return RowPage(
        dataset_key=key,
        split=chosen.name,
        data=rows,
        pagination=pagination(limit, offset, len(rows), chosen.statistics.num_rows),
    )


def iter_rows(datasets_dir: Path, key: str, split: str | None = None) -> Iterator[StoredTrace]:
    """The rows of one split, or of all splits in their order, streamed.

    Raises:
        DataError: a file is not the one that was built; nothing of it is given out.
    """
    manifest = get_dataset(datasets_dir, key)
    splits = manifest.splits if split is None else (chosen_split(manifest, split),)
    for part in splits:
        require_unchanged(datasets_dir, key, part)
        for line in iter_lines(datasets_dir, key, part.name):
            yield StoredTrace.model_construct(
                id=trace_id(line), created_at=manifest.created_at, canonical=line, score=None
            )


def require_unchanged(datasets_dir: Path, key: str, split: SplitFile) -> None:
    """Refuse a split whose bytes are not those that the manifest vouches for."""
    if file_sha256(split_path(datasets_dir, key, split.name)) != split.sha256:
        raise _damaged(key, f"{split.filename} is not the file that was built")


def delete_dataset(settings: Settings, key: str) -> None:
    """Remove a dataset. NotFoundError if there is none, ConflictError while a run uses or awaits it."""
    if not dataset_exists(settings.datasets_dir, key):
        read_manifest(settings.datasets_dir, key)  # raises: there is none
    begun = runs_using_dataset(settings.runs_dir, key)
    submitted = runs_using_dataset(settings.jobs_dir, key, recipe_file=JOB_RECIPE_FILE)
    runs = sorted({*begun, *submitted})
    if runs:
        shown = ", ".join(runs[:_MAX_RUNS_SHOWN])
        raise ConflictError(
            f"The dataset {key!r} is used by {len(runs)} runs: {shown}.",
            next_step="Keep it as their evidence, or delete those runs first.",
        )
    delete_dataset_dir(settings.datasets_dir, key)


def _manifest_or_none(datasets_dir: Path, key: str) -> DatasetManifest | None:
    try:
        return read_manifest(datasets_dir, key)
    except DataError:
        return None


def _trace(key: str, line: str) -> Trace:
    try:
        return Trace.model_validate_json(line)
    except ValidationError as error:
        raise _damaged(key, f"a row is no trace: {explain_validation_error(error)}") from error


def _damaged(key: str, problem: str) -> DataError:
    return DataError(
        f"The dataset {key!r} is damaged: {problem}.",
        next_step=f"Delete it ('tunix-rt data delete {key}') and build it again.",
    )
