"""Which row format a file has: what the user asked for, or what its first readable row shows."""

from collections.abc import Iterator
from pathlib import Path

from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.files.jsonl import FileRow, ReadRow
from tunix_rt.base.files.readers import FileType, open_rows
from tunix_rt.core.formats.columns import ColumnMap, require_columns
from tunix_rt.core.formats.registry import ROW_FORMATS, detect_format
from tunix_rt.core.formats.rows import RowError


def choose_format(
    path: Path, name: str, file_type: FileType | None, *, asked_for: str | None, column_map: ColumnMap
) -> str:
    """The name of the row format to read a file with.

    Raises:
        InvalidInputError: The wish is unknown or contradicts the column map, the map names a column that
            is not there, or no format has the keys of the first row.
    """
    _require_possible(asked_for, column_map)
    with open_rows(path, file_type) as stream:
        if stream.columns is not None:
            require_columns(column_map, stream.columns)
        if column_map:
            return "columns"
        return asked_for or _detected(stream.rows, name)


def _require_possible(asked_for: str | None, column_map: ColumnMap) -> None:
    if asked_for is not None and asked_for not in ROW_FORMATS:
        raise InvalidInputError(
            f"There is no format {asked_for!r}.", next_step=did_you_mean(asked_for, ROW_FORMATS)
        )
    if column_map and asked_for not in (None, "columns"):
        raise InvalidInputError(
            f"A column map and the format {asked_for!r} exclude each other.",
            next_step="Leave out --map or --format.",
        )


def _detected(rows: Iterator[FileRow], name: str) -> str:
    first = next((row for row in rows if isinstance(row, ReadRow)), None)
    if first is None:
        return "trace"  # no row can be read: every format rejects them for the same reasons
    try:
        return detect_format(first.values)
    except RowError as error:
        raise InvalidInputError(
            f"Cannot tell the format of {name}: {error}.",
            next_step="Pass --map prompt=COLUMN --map completion=COLUMN, or "
            f"--format {'|'.join(ROW_FORMATS)}.",
        ) from error
