"""Import a file: choose the format, all rows or none, a report of what was rejected."""

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tunix_rt.base.errors import DataError, InvalidInputError, did_you_mean
from tunix_rt.base.files.jsonl import ReadRow
from tunix_rt.base.files.readers import (
    STANDARD_INPUT,
    FileType,
    file_type_of,
    open_rows,
    regular_file,
    source_name,
)
from tunix_rt.base.host import in_this_process, worker_processes
from tunix_rt.base.records import explain_validation_error
from tunix_rt.traces.formats.converters import ColumnMap, require_columns
from tunix_rt.traces.formats.registry import ROW_FORMATS, RowOptions, detect_format
from tunix_rt.traces.formats.solutions import UNMARKED_RULE, RowError
from tunix_rt.traces.import_rows import (
    PARALLEL_FROM_BYTES,
    OnProgress,
    Rejection,
    Tally,
    TraceFile,
    in_batches,
    rejects_file,
)
from tunix_rt.traces.types import AddResult, Frozen, PreparedTrace


def choose_format(
    path: Path, name: str, file_type: FileType | None, *, requested: str | None, column_map: ColumnMap
) -> str:
    """The row format of a file.

    Raises:
        InvalidInputError: The requested format is unknown or contradicts the column map, the map names a
            missing column, or no format matches the keys of the first row.
    """
    if requested is not None and requested not in ROW_FORMATS:
        raise InvalidInputError(
            f"There is no format {requested!r}.", next_step=did_you_mean(requested, ROW_FORMATS)
        )
    if column_map and requested not in (None, "columns"):
        raise InvalidInputError(
            f"A column map and the format {requested!r} exclude each other.",
            next_step="Leave out --map or --format.",
        )
    with open_rows(path, file_type) as stream:
        if stream.columns is not None:
            require_columns(column_map, stream.columns)
        if column_map or requested:
            return requested or "columns"
        first = next((row for row in stream.rows if isinstance(row, ReadRow)), None)
    if first is None:
        return "trace"  # no row is readable, and every format rejects them for the same reasons
    try:
        return detect_format(first.values)
    except RowError as error:
        raise InvalidInputError(
            f"Cannot tell the format of {name}: {error}.",
            next_step="Pass --map prompt=COLUMN --map completion=COLUMN, or "
            f"--format {'|'.join(ROW_FORMATS)}.",
        ) from error


ROWS_PER_TRANSACTION = 2_000
CHARS_PER_TRANSACTION = 32_000_000


class TraceStore(Protocol):
    """The destination of imported traces."""

    def add_prepared(self, entries: Sequence[PreparedTrace]) -> set[UUID]:
        """Store traces, all or none; returns the ids of the new ones."""


class ImportOptions(BaseModel):
    """How to import a file. Unset options are detected from the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    row_format: str | None = None
    """One of `ROW_FORMATS`."""
    file_type: FileType | None = None
    column_map: dict[str, str] = Field(default_factory=dict)
    source: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^\x00]+$")
    """Replaces `meta.source` of every row; unset, rows without one get the file's name."""
    skip_invalid: bool = False
    require_marker: bool = False
    drop_extra_columns: bool = False
    keep_annotations: bool = False
    rejects_path: Path | None = None


def import_options(**values: Any) -> ImportOptions:
    """Build options from user input; an invalid value is an `InvalidInputError`."""
    try:
        return ImportOptions(**values)
    except ValidationError as error:
        raise InvalidInputError(
            f"Cannot import with these options: {explain_validation_error(error)}.",
            next_step="docs/importing.md describes the options.",
        ) from error


class ImportReport(Frozen):
    """The result of an import."""

    file: str
    row_format: str
    num_read: int
    num_imported: int
    num_present: int
    """Rows whose trace was already stored or occurred earlier in the file."""
    num_rejected: int
    num_blank_lines: int
    answer_rules: dict[str, int]
    """Number of rows per answer rule; see docs/importing.md."""
    first_rejections: tuple[Rejection, ...]
    notes: tuple[str, ...]
    seconds: float
    rows_per_s: float


class RejectedRowsError(DataError):
    """A file has invalid rows, and nothing of it was imported."""

    def __init__(self, file: str, num_read: int, num_rejected: int, first: Sequence[Rejection]) -> None:
        reasons = "".join(f"\n  line {rejection.line}: {rejection.reason}" for rejection in first)
        more = f"\n  and {num_rejected - len(first)} more" if num_rejected > len(first) else ""
        super().__init__(
            f"{num_rejected} of {num_read} rows of {file} cannot be imported; nothing was imported."
            f"{reasons}{more}",
            next_step="Correct them, or pass --skip-invalid to import the others; "
            "--rejects FILE writes all of them to a file.",
        )
        self.num_rejected = num_rejected
        self.first_rejections = tuple(first)


def import_traces(
    store: TraceStore,
    file: str | Path,
    options: ImportOptions | None = None,
    *,
    on_progress: OnProgress = lambda progress: None,
    name: str | None = None,
) -> ImportReport:
    """Store every trace of a file (`-`: standard input).

    A file with an invalid row is rejected before anything is stored, unless `skip_invalid` is set. To
    complete an interrupted import, run it again: stored traces are not added twice.

    Args:
        store: The destination.
        file: The file; a pipe is copied to a temporary file first.
        options: How to read it.
        on_progress: Called after each chunk of 500 rows, or fewer when they reach 4 MiB.
        name: The name of the file if its path does not tell it, as for an upload.

    Raises:
        RejectedRowsError: A row cannot be imported and `skip_invalid` is not set.
        InvalidInputError: The options do not fit the file.
    """
    started = time.monotonic()
    name = name or ("stdin" if str(file) == STANDARD_INPUT else str(file))
    options = options or ImportOptions()
    with regular_file(file) as path:
        rejects_path = options.rejects_path
        if rejects_path is not None and rejects_path.exists() and rejects_path.samefile(path):
            raise InvalidInputError(
                "The file for rejected rows is the file to import.",
                next_step="Pass another path to --rejects.",
            )
        traces = _trace_file(path, name, options)
        tally, result = _import(store, traces, options, on_progress)
    if not tally.num_read:
        raise DataError(f"There are no rows in {name}.", next_step="Check the path.")
    return _report(name, traces.row_options, tally, result, time.monotonic() - started)


def _import(
    store: TraceStore, file: TraceFile, options: ImportOptions, on_progress: OnProgress
) -> tuple[Tally, AddResult]:
    """Store the valid rows if `skip_invalid` is set; otherwise check the whole file first."""
    tally = Tally()
    is_large = file.path.stat().st_size >= PARALLEL_FROM_BYTES
    with worker_processes() if is_large else nullcontext(in_this_process) as mapper:
        with rejects_file(options.rejects_path) as rejects:
            if options.skip_invalid:
                return tally, _store_all(store, file.read(mapper, "importing", tally, rejects, on_progress))
            for _ in file.read(mapper, "checking", tally, rejects, on_progress):
                pass
        if tally.num_rejected:
            raise RejectedRowsError(file.name, tally.num_read, tally.num_rejected, tally.first_rejections)
        second = Tally()
        result = _store_all(store, file.read(mapper, "importing", second, None, on_progress))
    if second.num_rejected or second.num_read != tally.num_read:
        raise DataError(
            f"{file.name} changed while it was being imported.",
            next_step="Wait until the file is complete and import it again; nothing is added twice.",
        )
    return tally, result


def _store_all(store: TraceStore, chunks: Iterator[list[PreparedTrace]]) -> AddResult:
    num_added = num_present = 0
    for batch in in_batches(
        chain.from_iterable(chunks),
        lambda trace: len(trace.canonical),
        max_items=ROWS_PER_TRANSACTION,
        max_size=CHARS_PER_TRANSACTION,
    ):
        num_new = len(store.add_prepared(batch))
        num_added += num_new
        num_present += len(batch) - num_new
    return AddResult(num_added=num_added, num_present=num_present)


def _trace_file(path: Path, name: str, options: ImportOptions) -> TraceFile:
    file_type = options.file_type
    if file_type is None and file_type_of(name) != "jsonl":
        file_type = file_type_of(name)  # the path may be a temporary copy with another name
    row_options = RowOptions(
        row_format=choose_format(
            path, name, file_type, requested=options.row_format, column_map=options.column_map
        ),
        column_map=options.column_map,
        keep_annotations=options.keep_annotations,
        require_marker=options.require_marker,
        drop_extra_columns=options.drop_extra_columns,
    )
    return TraceFile(
        path=path,
        name=name,
        file_type=file_type,
        row_options=row_options,
        source=options.source or source_name(name),
        overwrite_source=options.source is not None,
    )


def _report(
    name: str, row_options: RowOptions, tally: Tally, result: AddResult, seconds: float
) -> ImportReport:
    # Automatic decisions, and the options that change them.
    notes: list[str] = []
    if num_unmarked := tally.answer_rules[UNMARKED_RULE]:
        notes.append(
            f"{num_unmarked} rows have no answer marker: the last line was taken as the answer; "
            "see meta.answer_rule, or pass --require-marker to reject them"
        )
    if tally.num_system_folded:
        notes.append(
            f"{tally.num_system_folded} rows have a system message, which was prepended to the prompt"
        )
    if row_options.row_format == "gsm8k" and not row_options.keep_annotations:
        notes.append("calculator annotations (<<…>>) were removed; --keep-annotations keeps them")
    return ImportReport(
        file=name,
        row_format=row_options.row_format,
        num_read=tally.num_read,
        num_imported=result.num_added,
        num_present=result.num_present,
        num_rejected=tally.num_rejected,
        num_blank_lines=tally.num_blank_lines,
        answer_rules=dict(tally.answer_rules),
        first_rejections=tuple(tally.first_rejections),
        notes=tuple(notes),
        seconds=round(seconds, 3),
        rows_per_s=round(tally.num_read / max(seconds, 1e-9), 1),
    )
