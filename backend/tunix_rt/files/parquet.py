"""Parquet, read and written in batches. Needs the optional extra `parquet`."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tunix_rt.core.errors import DataError, MissingExtraError
from tunix_rt.files.rows import BadRow, FileRow, ReadRow

BATCH_ROWS = 1_000
JSON_COLUMNS = ("meta", "metadata")
"""Free-form objects have no column type: they are written as JSON text and read back as objects."""


class ParquetTable:
    """A Parquet file: its columns, and its rows with values that JSON can hold."""

    def __init__(self, path: Path) -> None:
        pyarrow, parquet = _pyarrow()
        self._arrow_error: type[Exception] = pyarrow.ArrowException
        try:
            self._file = parquet.ParquetFile(path)
        except (self._arrow_error, OSError) as error:
            raise DataError(
                f"{path.name} is not a readable Parquet file: {error}",
                next_step="Write the file again, or pass --file-type if it is not Parquet.",
            ) from error
        self.columns = tuple(self._file.schema_arrow.names)
        self.num_rows: int = self._file.metadata.num_rows

    def rows(self) -> Iterator[FileRow]:
        """All rows, numbered from 1."""
        number = 0
        try:
            for batch in self._file.iter_batches(batch_size=BATCH_ROWS):
                for values in batch.to_pylist():
                    number += 1
                    yield _row(number, values)
        except (self._arrow_error, OSError, UnicodeDecodeError) as error:
            yield BadRow(number + 1, f"cannot be read, nor what follows it: {error}", "")

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def write_parquet(target: Path | IO[bytes], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows of one shape and return how many there were; `meta` and `metadata` become JSON text."""
    pyarrow, parquet = _pyarrow()
    remaining = iter(rows)
    writer = None
    num_written = 0
    while batch := [_flat(row) for row in islice(remaining, BATCH_ROWS)]:
        table = pyarrow.Table.from_pylist(batch, schema=writer.schema if writer else None)
        writer = writer or parquet.ParquetWriter(target, table.schema)
        writer.write_table(table)
        num_written += len(batch)
    writer = writer or parquet.ParquetWriter(target, pyarrow.schema([]))
    writer.close()
    return num_written


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", extra="parquet") from error
    return pyarrow, parquet


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: json.dumps(value, ensure_ascii=False, sort_keys=True) if key in JSON_COLUMNS else value
        for key, value in row.items()
    }


def _row(number: int, values: dict[str, Any]) -> FileRow:
    try:
        return ReadRow(number, {key: _json_value(value) for key, value in values.items()})
    except ValueError as error:
        return BadRow(number, str(error), repr(values))


def _json_value(value: Any) -> Any:
    """A column value as JSON holds it: times as ISO text, decimals as text, NaN (missing) as null."""
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise ValueError(
        f"holds a value of type {type(value).__name__}, which is not text, number, list or object"
    )
