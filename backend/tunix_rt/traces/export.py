"""Export stored traces to training formats."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from tunix_rt.base.errors import DataError, InvalidInputError, did_you_mean
from tunix_rt.base.files.atomic import write_atomically
from tunix_rt.base.files.tables import write_parquet
from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.types import Frozen, StoredTrace


class ExportReport(Frozen):
    """The result of an export."""

    file: str
    export_format: str
    num_exported: int


def require_export_format(name: str) -> str:
    """Return the name, or raise an error that suggests a known one."""
    if name not in EXPORT_FORMATS:
        raise InvalidInputError(
            f"There is no export format {name!r}.", next_step=did_you_mean(name, EXPORT_FORMATS)
        )
    return name


def export_lines(stored: Iterable[StoredTrace], export_format: str) -> Iterator[str]:
    """JSONL lines, without line breaks, in the order of `stored`; for `trace`, the canonical JSON.

    Raises:
        DataError: A trace cannot be written in this format; the error names it.
    """
    if export_format == "trace":
        yield from (item.canonical for item in stored)
        return
    for row in _rows(stored, export_format):
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def export_file(stored: Iterable[StoredTrace], path: Path, export_format: str) -> ExportReport:
    """Write a file atomically: Parquet or gzip by its suffix, else JSONL."""
    require_export_format(export_format)
    with write_atomically(path, what="writing the export") as file:
        if path.suffix == ".parquet":
            num_exported = write_parquet(file, _rows(stored, export_format))
        elif path.suffix == ".gz":
            # Without a timestamp and name, the same traces give the same bytes.
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                num_exported = write_lines(export_lines(stored, export_format), cast(IO[bytes], packed))
        else:
            num_exported = write_lines(export_lines(stored, export_format), file)
    return ExportReport(file=str(path), export_format=export_format, num_exported=num_exported)


def write_lines(lines: Iterable[str], file: IO[bytes]) -> int:
    """Write lines as UTF-8 and return their number."""
    num_lines = 0
    for line in lines:
        file.write(f"{line}\n".encode())
        num_lines += 1
    return num_lines


def _rows(stored: Iterable[StoredTrace], export_format: str) -> Iterator[dict[str, Any]]:
    for item in stored:
        try:
            yield EXPORT_FORMATS[export_format](item.trace())
        except DataError as error:
            raise DataError(f"Trace {item.id}: {error.detail}", next_step=error.next_step) from error
