"""Open a file of rows by its content: JSONL, CSV, TSV, JSON list or Parquet, plain or gzipped."""

import gzip
import io
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError, StorageError
from tunix_rt.base.files.jsonl import BadRow, FileRow, RawLine, UnreadRow, parse_raw, unread_lines
from tunix_rt.base.files.tables import CsvTable, ParquetTable, read_json_list, starts_a_list

FileType = Literal["jsonl", "csv", "tsv", "parquet"]
FILE_TYPES: tuple[FileType, ...] = get_args(FileType)
STANDARD_INPUT = "-"
_SUFFIXES: dict[str, FileType] = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_GZIP_MAGIC = b"\x1f\x8b"
_PARQUET_MAGIC = b"PAR1"
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class RowStream:
    """The rows of an open file, to be read once."""

    unread: Iterator[UnreadRow]
    """The rows, with unparsed lines of JSON."""
    fraction_read: Callable[[], float]
    """How much of the file has been read, 0 to 1."""
    columns: tuple[str, ...] | None = None
    """The header of a table; None if every row has its own keys."""

    @property
    def rows(self) -> Iterator[FileRow]:
        """The rows, parsed."""
        return (parse_raw(row) if isinstance(row, RawLine) else row for row in self.unread)


@contextmanager
def open_rows(path: Path, file_type: FileType | None = None) -> Iterator[RowStream]:
    """The rows of a regular file; by default, its first bytes and its name determine its type."""
    with ExitStack() as resources:
        raw = resources.enter_context(path.open("rb"))
        start = raw.peek(4)[:4]
        kind = file_type or file_type_of(path.name, start)
        if kind == "parquet":
            yield _parquet_stream(path, resources)
            return
        file = raw
        if start.startswith(_GZIP_MAGIC):
            packed = resources.enter_context(gzip.GzipFile(fileobj=raw))
            file = io.BufferedReader(cast(io.RawIOBase, packed))
        yield _text_stream(file, raw, kind)


@contextmanager
def regular_file(name: str | Path) -> Iterator[Path]:
    """A path that can be read twice: the file itself, or a temporary copy of a pipe or of `-`.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: It is a directory or not readable.
    """
    path = Path(name)
    if str(name) != STANDARD_INPUT and _is_regular(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tunix-rt-") as folder:
        copy = Path(folder) / "input"
        _copy_stream(str(name), copy)
        yield copy


def source_name(name: str | Path) -> str:
    """The name of the data in a file: `data/gsm8k.jsonl.gz` -> `gsm8k`, `-` -> `stdin`."""
    if str(name) == STANDARD_INPUT:
        return "stdin"
    full = Path(name).name.encode("utf-8", "replace").decode("utf-8")
    return full.split(".")[0] or full


def file_type_of(name: str, start: bytes = b"") -> FileType:
    """The type of a file from its first bytes and its name: `table.csv.gz` -> `csv`."""
    if start == _PARQUET_MAGIC:
        return "parquet"
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    return _SUFFIXES.get(suffixes[-1], "jsonl") if suffixes else "jsonl"


def _parquet_stream(path: Path, resources: ExitStack) -> RowStream:
    table = ParquetTable(path)
    resources.callback(table.close)
    last_number = 0

    def rows() -> Iterator[FileRow]:
        nonlocal last_number
        for row in table.rows():
            last_number = row.number
            yield row

    return RowStream(rows(), lambda: last_number / max(table.num_rows, 1), table.columns)


def _text_stream(file: io.BufferedReader, raw: io.BufferedReader, kind: FileType) -> RowStream:
    num_bytes = max(Path(raw.name).stat().st_size, 1)

    def fraction_read() -> float:
        return raw.tell() / num_bytes

    if kind == "jsonl":
        return RowStream(_until_damaged(_json_rows(file)), fraction_read)
    try:
        table = CsvTable(file, delimiter="\t" if kind == "tsv" else ",")
    except _DAMAGE as error:
        raise DataError(
            f"The gzip data is damaged ({error}).", next_step="Compress or download the file again."
        ) from error
    return RowStream(_until_damaged(table.rows()), fraction_read, table.columns)


def _json_rows(file: io.BufferedReader) -> Iterator[UnreadRow]:
    """One object per line, or the objects of one list. Damaged data raises with the first row, not before."""
    yield from read_json_list(file) if starts_a_list(file.peek(64)) else unread_lines(file)


def _until_damaged(rows: Iterator[UnreadRow]) -> Iterator[UnreadRow]:
    """The rows, ending in a `BadRow` where compressed data is damaged or cut off."""
    number = 0
    try:
        for row in rows:
            number = row.number
            yield row
    except _DAMAGE as error:
        reason = f"cannot be read, nor can later rows: the gzip data is damaged ({error})"
        yield BadRow(number + 1, reason, "")


def _is_regular(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {path}.", next_step="Check the path.") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISDIR(mode):
        raise InvalidInputError(f"{path} is a directory.", next_step="Name a file inside it.")
    return stat.S_ISREG(mode)


def _copy_stream(name: str, target: Path) -> None:
    try:
        with ExitStack() as resources:
            stream = sys.stdin.buffer if name == STANDARD_INPUT else resources.enter_context(open(name, "rb"))
            shutil.copyfileobj(stream, resources.enter_context(target.open("wb")), 1024 * 1024)
    except PermissionError as error:
        raise _unreadable(Path(name), error) from error
    except OSError as error:
        raise StorageError(
            f"Could not store a temporary copy of the input: {error.strerror}.",
            next_step="Free disk space, or set TMPDIR to a larger disk.",
        ) from error


def _unreadable(path: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{path} cannot be read: {error.strerror}.", next_step="Check the path and its permissions."
    )
