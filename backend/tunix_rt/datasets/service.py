"""List, read, verify, export, summarize and delete datasets."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, write_atomically
from tunix_rt.base.home import Home
from tunix_rt.base.records import Frozen, Pagination, explain_validation_error, pagination
from tunix_rt.base.settings import JOB_RECIPE_FILE, RUN_RECIPE_FILE, Settings
from tunix_rt.base.statistics import Bin, histogram
from tunix_rt.datasets.card import dataset_card
from tunix_rt.datasets.files import (
    CARD_FILE,
    dataset_dir,
    dataset_exists,
    dataset_keys,
    delete_dataset_dir,
    file_sha256,
    iter_lines,
    read_card,
    read_manifest,
    split_path,
)
from tunix_rt.datasets.ingest import ensure_shipped
from tunix_rt.datasets.rows import digest, row_sizes
from tunix_rt.datasets.types import DatasetManifest, DatasetSummary, SplitFile, content_hash, summarise
from tunix_rt.traces.export import export_file
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import StoredTrace, Trace, canonical_json, normalised_prompt, trace_id


def runs_using_dataset(runs_dir: Path, key: str, *, recipe_file: str = RUN_RECIPE_FILE) -> list[str]:
    """The ids of the runs whose resolved recipe names the dataset, sorted."""
    recipes = runs_dir.glob(f"*/{recipe_file}")
    return sorted(recipe.parent.name for recipe in recipes if _dataset_of(recipe) == key)


def _dataset_of(recipe: Path) -> str | None:
    try:
        value = json.loads(recipe.read_bytes())
    except (ValueError, FileNotFoundError):
        return None  # being written, or just deleted
    data = value.get("data") if isinstance(value, dict) else None
    return data.get("dataset") if isinstance(data, dict) else None


_MAX_RUNS_SHOWN = 5


class DatasetList(BaseModel):
    """A page of datasets by key."""

    model_config = ConfigDict(frozen=True)
    data: tuple[DatasetSummary, ...]
    damaged: tuple[str, ...]
    """Keys on this page with an unreadable manifest; `data delete` removes them."""
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
    """A page of the complete datasets by key, optionally only those whose key contains `text`."""
    pattern = (text or "").strip().lower()
    keys = [key for key in dataset_keys(datasets_dir) if pattern in key.lower()]
    page = keys[offset : offset + limit]
    summaries, damaged = [], []
    for key in page:
        try:
            summaries.append(summarise(read_manifest(datasets_dir, key)))
        except DataError:
            damaged.append(key)
    return DatasetList(
        data=tuple(summaries),
        damaged=tuple(damaged),
        pagination=pagination(limit, offset, len(page), len(keys)),
    )


def get_dataset(datasets_dir: Path, key: str) -> DatasetManifest:
    """The manifest of a dataset, or NotFoundError. Shipped datasets are built on first use."""
    ensure_shipped(datasets_dir, key)
    return read_manifest(datasets_dir, key)


def get_card(datasets_dir: Path, key: str) -> str:
    """The dataset card as Markdown, or NotFoundError."""
    get_dataset(datasets_dir, key)
    return read_card(datasets_dir, key)


def chosen_split(manifest: DatasetManifest, name: str | None) -> SplitFile:
    """The split of this name, by default the first one, or NotFoundError."""
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
    """Stream the rows of one split, or of all splits in order.

    Raises:
        DataError: a file was changed after the build. None of its rows are yielded.
    """
    manifest = get_dataset(datasets_dir, key)
    splits = manifest.splits if split is None else (chosen_split(manifest, split),)
    for part in splits:
        if file_sha256(split_path(datasets_dir, key, part.name)) != part.sha256:
            raise _damaged(key, f"{part.filename} is not the file that was built")
        for line in iter_lines(datasets_dir, key, part.name):
            yield StoredTrace.model_construct(
                id=trace_id(line), created_at=manifest.created_at, canonical=line, score=None
            )


def delete_dataset(settings: Settings, key: str) -> None:
    """Delete a dataset. NotFoundError if there is none, ConflictError while a run or job uses it."""
    if not dataset_exists(settings.datasets_dir, key):
        read_manifest(settings.datasets_dir, key)  # raises: there is none
    started = runs_using_dataset(settings.runs_dir, key)
    submitted = runs_using_dataset(settings.jobs_dir, key, recipe_file=JOB_RECIPE_FILE)
    runs = sorted({*started, *submitted})
    if runs:
        shown = ", ".join(runs[:_MAX_RUNS_SHOWN])
        raise ConflictError(
            f"The dataset {key!r} is used by {len(runs)} runs: {shown}.",
            next_step="Keep it as their evidence, or delete those runs first.",
        )
    delete_dataset_dir(settings.datasets_dir, key)


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


ExportFormat = Literal[
    "trace", "messages", "prompt_completion", "sharegpt", "alpaca", "tunix_sft", "training_example"
]
ExportFileType = Literal["jsonl", "parquet"]


class DatasetExport(BaseModel):
    """The result of an export."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str
    export_format: str
    rows_by_file: dict[str, int]


def export_directory(
    datasets_dir: Path,
    key: str,
    directory: Path,
    *,
    split: str | None,
    export_format: ExportFormat,
    file_type: ExportFileType,
) -> DatasetExport:
    """Write one file per split and the dataset card, in the layout of the Hugging Face Hub.

    Raises:
        ConflictError: the directory is not empty.
    """
    manifest = get_dataset(datasets_dir, key)
    splits = manifest.splits if split is None else (chosen_split(manifest, split),)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ConflictError(
            f"{directory} exists and is not an empty directory.",
            next_step="Pass a new directory; an export never overwrites files.",
        )
    rows_by_file = {}
    for part in splits:
        path = directory / f"{part.name}.{file_type}"
        report = export_file(iter_rows(datasets_dir, key, part.name), path, export_format)
        rows_by_file[path.name] = report.num_exported
    card = dataset_card(manifest.model_copy(update={"splits": splits}), file_suffix=file_type)
    with write_atomically(directory / CARD_FILE, what="writing the dataset card") as file:
        file.write(card.encode("utf-8"))
    return DatasetExport(dataset_key=key, export_format=export_format, rows_by_file=rows_by_file)


def open_export(
    datasets_dir: Path, key: str, *, split: str | None, export_format: ExportFormat, file_type: ExportFileType
) -> IO[bytes]:
    """Export to an open, unlinked temporary file, which the caller closes.

    A row that does not fit the format raises here. No file is left behind, even if the process is killed.
    """
    with storage_errors("writing the export"), tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        path = Path(folder) / f"export.{file_type}"
        export_file(iter_rows(datasets_dir, key, split), path, export_format)
        return path.open("rb")


class DatasetHistograms(Frozen):
    """Histograms of the rows of one split."""

    dataset_key: str
    split: str
    num_rows: int
    steps: tuple[Bin, ...]
    """Steps per row."""
    chars: tuple[Bin, ...]
    """Characters of prompt, steps and answer per row."""
    scores: tuple[Bin, ...]
    """Stored linter scores of the traces."""
    num_unscored: int
    """Rows whose trace has no stored score."""


def dataset_histograms(home: Home, key: str, split: str | None) -> DatasetHistograms:
    """The histograms of a split (by default the first one), or NotFoundError."""
    datasets_dir = home.settings.datasets_dir
    chosen = chosen_split(get_dataset(datasets_dir, key), split)
    steps: Counter[float] = Counter()
    chars: Counter[float] = Counter()
    ids: list[UUID] = []
    for row in iter_rows(datasets_dir, key, chosen.name):
        num_steps, num_chars = row_sizes(from_json(row.canonical))
        steps[num_steps] += 1
        chars[num_chars] += 1
        ids.append(row.id)
    scores = TraceRepository(home.database).scores(ids)
    return DatasetHistograms(
        dataset_key=key,
        split=chosen.name,
        num_rows=len(ids),
        steps=histogram(steps),
        chars=histogram(chars),
        scores=histogram(Counter(scores.values())),
        num_unscored=len(ids) - len(scores),
    )


_MAX_PROBLEMS = 20


class DatasetVerdict(BaseModel):
    """Whether a dataset is intact, and its problems."""

    model_config = ConfigDict(frozen=True)
    dataset_key: str
    intact: bool
    content_hash: str
    num_rows: int
    problems: tuple[str, ...]


def verify_dataset(datasets_dir: Path, key: str) -> DatasetVerdict:
    """Hash every file, parse every row, and compare them with the manifest."""
    manifest = get_dataset(datasets_dir, key)
    problems = tuple(islice(_problems(datasets_dir, manifest), _MAX_PROBLEMS))
    return DatasetVerdict(
        dataset_key=key,
        intact=not problems,
        content_hash=manifest.content_hash,
        num_rows=manifest.num_rows,
        problems=problems,
    )


def _problems(datasets_dir: Path, manifest: DatasetManifest) -> Iterator[str]:
    if manifest.dataset_key != manifest.spec.dataset_key:
        yield f"the manifest has two different keys: {manifest.dataset_key} and {manifest.spec.dataset_key}"
    hashes = [(split.name, split.sha256) for split in manifest.splits]
    if content_hash(hashes) != manifest.content_hash:
        yield "the content hash does not follow from the split hashes"
    folder = dataset_dir(datasets_dir, manifest.dataset_key)
    yield from _changed_file(folder / CARD_FILE, manifest.card_sha256)
    split_of_question: dict[bytes, str] = {}
    for split in manifest.splits:
        changed = list(_changed_file(folder / split.filename, split.sha256))
        yield from changed or _bad_rows(datasets_dir, manifest, split, split_of_question)


def _changed_file(path: Path, expected_sha256: str) -> Iterator[str]:
    try:
        if file_sha256(path) != expected_sha256:
            yield f"{path.name} is not the file that was built: its SHA-256 differs"
    except DataError as error:
        yield error.detail


def _bad_rows(
    datasets_dir: Path, manifest: DatasetManifest, split: SplitFile, split_of_question: dict[bytes, str]
) -> Iterator[str]:
    num_rows = 0
    last_id = ""
    for num_rows, line in enumerate(iter_lines(datasets_dir, manifest.dataset_key, split.name), start=1):
        location = f"{split.filename} line {num_rows}"
        try:
            trace = Trace.model_validate_json(line)
        except ValidationError as error:
            yield f"{location}: {explain_validation_error(error)}"
            continue
        if canonical_json(trace) != line:
            yield f"{location}: is not canonical JSON"
        row_id = str(trace_id(line))
        if row_id <= last_id:
            yield f"{location}: is not in trace id order"
        last_id = row_id
        question = digest(normalised_prompt(trace.prompt))
        if split_of_question.setdefault(question, split.name) != split.name:
            yield f"{location}: asks a question that is in {split_of_question[question]!r} too"
    if num_rows != split.statistics.num_rows:
        yield f"{split.filename} has {num_rows} rows, the manifest says {split.statistics.num_rows}"
