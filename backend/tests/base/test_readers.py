import gzip
import io
import json
import os
import threading
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError
from tunix_rt.base.files.jsonl import BadRow, BlankLine, FileRow, ReadRow, read_jsonl
from tunix_rt.base.files.readers import FileType, open_rows, regular_file, source_name
from tunix_rt.base.files.tables import CsvTable, read_json_list, write_parquet

GOOD = b'{"a": 1}\n'


def rows_of(content: bytes) -> list[FileRow]:
    return list(read_jsonl(io.BytesIO(content)))


def rows_in(path: Path, file_type: FileType | None = None) -> list[FileRow]:
    with open_rows(path, file_type) as stream:
        return list(stream.rows)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": \xff}', "is not UTF-8 (byte 7)"),
        (b'{"a": "\\ud800"}', "is not JSON"),
        (b'{"a": NaN}', "is not JSON"),
        (b'{"a": -Infinity}', "is not JSON"),
        (b'{"a": "\x00"}', "control character"),
        (b"[" * 100_000, "recursion limit"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "number out of range"),
        (b"[1, 2]", "must be a JSON object, not a list"),
        (b"null", "not null"),
        (b"3", "not a number"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"a": {"b" : 1, "b":2}}', "'b' occurs twice"),
        (b'{"a": "say \\"a\\": 1", "c": 1, "c": 2}', "'c' occurs twice"),
        (b"{", "each object must be on one line"),
        (b'{"a": 1} {"a": 2}', "trailing characters"),
    ],
)
def test_reading_continues_after_bad_line(line: bytes, reason: str) -> None:
    first, second = rows_of(line + b"\n" + GOOD)
    assert isinstance(first, BadRow)
    assert first.number == 1
    assert reason in first.reason
    assert second == ReadRow(2, {"a": 1})


def test_key_like_text_is_accepted() -> None:
    assert rows_of(b'{"a": "\\"a\\": 1 : 2"}\n') == [ReadRow(1, {"a": '"a": 1 : 2'})]


def test_blank_lines_keep_numbering() -> None:
    assert rows_of(b"\n  \n" + GOOD) == [BlankLine(1), BlankLine(2), ReadRow(3, {"a": 1})]


def test_bom_and_crlf_are_accepted() -> None:
    assert rows_of(b'\xef\xbb\xbf{"a": 1}\r\n') == [ReadRow(1, {"a": 1})]


def test_truncated_last_line_is_reported() -> None:
    _, last = rows_of(GOOD + b'{"a": ')
    assert isinstance(last, BadRow)
    assert "may be cut off" in last.reason


def test_overlong_line_keeps_only_its_start() -> None:
    content = io.BytesIO(b'{"a": "' + b"x" * 5_000_000 + b'"}\n' + GOOD)
    first, second = read_jsonl(content, max_line_bytes=2_000)
    assert isinstance(first, BadRow)
    assert "longer than 2,000 bytes" in first.reason
    assert len(first.raw) == 1_000
    assert second == ReadRow(2, {"a": 1})


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,ab1\n\\ ', max_size=60).map(str.encode))
def test_arbitrary_bytes_yield_numbered_rows(content: bytes) -> None:
    num_lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    assert [row.number for row in rows_of(content)] == list(range(1, num_lines + 1))


def list_rows(content: bytes, max_item_chars: int = 1_000_000) -> list[FileRow]:
    return list(read_json_list(io.BytesIO(content), max_item_chars=max_item_chars))


def test_json_list_yields_rows() -> None:
    assert list_rows(b'\xef\xbb\xbf\n[\n  {"a": [1, 2]},\n  {"b": "]"}\n]\n') == [
        ReadRow(1, {"a": [1, 2]}),
        ReadRow(2, {"b": "]"}),
    ]


def test_item_longer_than_chunk_is_read() -> None:
    long = "x" * 700_000
    assert list_rows(json.dumps([{"a": long}, {"b": 1}]).encode()) == [
        ReadRow(1, {"a": long}),
        ReadRow(2, {"b": 1}),
    ]


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (b'[{"a": 1}, 5, {"b": 1}]', [None, "not a number", None]),
        (b'[{"c": {"a": 1, "a": 2}, "x": "' + b"x" * 400_000 + b'"}, {"b": 1}]', ["'a' occurs twice", None]),
        (b'[{"a": 1}, {"b": ]', [None, "nor can later rows"]),
        (b'[{"a": 1}', [None, "never closed"]),
        (b'[{"a": 1}]\n[{"b": 1}]', [None, "follows the end"]),
        (b'[{"a": NaN}, {"b": 1}]', ["NaN", None]),
        (b"[" * 50_000, ["nor can later rows"]),
        (b'[{"a": "' + b"x" * 2_000_000 + b'"}]', ["longer than"]),
        (b"[]", []),
    ],
)
def test_bad_list_item_is_reported(content: bytes, reasons: list[str | None]) -> None:
    rows = list_rows(content)
    assert [row.number for row in rows] == list(range(1, len(reasons) + 1))
    for row, reason in zip(rows, reasons, strict=True):
        assert isinstance(row, BadRow) == (reason is not None)
        assert reason is None or (isinstance(row, BadRow) and reason in row.reason)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,ab1\n\\ ', max_size=60).map(str.encode))
def test_arbitrary_bytes_yield_list_rows(content: bytes) -> None:
    rows = list_rows(b"[" + content)
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


def csv_rows(content: bytes) -> list[FileRow]:
    return list(CsvTable(io.BytesIO(content)).rows())


def test_csv_fields_keep_quotes_and_newlines() -> None:
    rows = csv_rows(b'\xef\xbb\xbfq,a\r\n"say ""hi"", now","x\ny"\r\nb,2\r\n')
    assert rows == [ReadRow(2, {"q": 'say "hi", now', "a": "x\ny"}), ReadRow(4, {"q": "b", "a": "2"})]


def test_large_csv_field_is_read() -> None:
    (row,) = csv_rows(b"q,a\n" + b"x" * 200_000 + b",1\n")
    assert isinstance(row, ReadRow)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1,2,3", "has 3 fields, but the header has 2"),
        (b"1", "has 1 fields"),
        (b"\xff,2", "'q' is not UTF-8"),
        (b'"x"y,2', "not readable CSV"),
    ],
)
def test_reading_continues_after_bad_csv_row(line: bytes, reason: str) -> None:
    first, second = csv_rows(b"q,a\n" + line + b"\nb,2\n")
    assert isinstance(first, BadRow)
    assert first.number == 2
    assert reason in first.reason
    assert second == ReadRow(3, {"q": "b", "a": "2"})


def test_unclosed_csv_quote_is_bad_row() -> None:
    (row,) = csv_rows(b'q,a\n"never,2\nb,3\n')
    assert isinstance(row, BadRow)
    assert "unexpected end of data" in row.reason


def test_overlong_csv_line_is_bad_row() -> None:
    content = io.BytesIO(b"q,a\n" + b"x" * 1_000 + b",1\nb,2\n")
    first, second = CsvTable(content, max_line_bytes=100).rows()
    assert isinstance(first, BadRow)
    assert second == ReadRow(3, {"q": "b", "a": "2"})


@pytest.mark.parametrize("content", [b"", b"\n", b"a,a\n1,2\n", b"a\x00,b\n1,2\n", b'"a\n'])
def test_unusable_csv_header_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="header"):
        CsvTable(io.BytesIO(content))


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='",ab\n\r\x00', max_size=60).map(str.encode))
def test_arbitrary_bytes_yield_csv_rows(content: bytes) -> None:
    assert all(row.number >= 2 for row in csv_rows(b"q,a\n" + content))


def test_file_type_is_detected(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("q\ta\nb\t2\n")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(b"q,a\nb,2\n"))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(b'[{"q": "b", "a": "2"}]'))
    write_parquet(tmp_path / "no_suffix", [{"q": "b", "a": "2"}])
    for name in ("t.tsv", "packed.csv.gz", "list.json.gz", "no_suffix"):
        (row,) = rows_in(tmp_path / name)
        assert isinstance(row, ReadRow)
        assert row.values == {"q": "b", "a": "2"}


def test_truncated_gzip_ends_in_bad_row(tmp_path: Path) -> None:
    lines = b"".join(b'{"a": %d}\n' % os.urandom(1)[0] for _ in range(5_000))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-500])
    rows = rows_in(path)
    assert isinstance(rows[-1], BadRow)
    assert "gzip data is damaged" in rows[-1].reason
    assert rows[-1].number == len(rows)


def test_damaged_gzip_header_is_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "not-gzip.gz"
    path.write_bytes(b"\x1f\x8b" + bytes(range(256)))
    (row,) = rows_in(path)
    assert isinstance(row, BadRow)
    assert "gzip data is damaged" in row.reason


def test_truncated_gzipped_csv_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"q,a\nb,2\n")[:15])
    with pytest.raises(DataError, match="gzip data is damaged"):
        rows_in(path)


def test_parquet_values_become_json(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    day = pyarrow.scalar(0, pyarrow.date32()).as_py()
    columns = {"n": [1, 2], "x": [float("nan"), 0.5], "day": [day, None], "tags": [["a"], []]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    first, second = rows_in(path)
    assert first == ReadRow(1, {"n": 1, "x": None, "day": "1970-01-01", "tags": ["a"]})
    assert second.number == 2


def test_parquet_bytes_are_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"b": [b"\xff"]}), path)
    (row,) = rows_in(path)
    assert isinstance(row, BadRow)
    assert "bytes" in row.reason


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 is not enough")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        rows_in(path)


def test_parquet_round_trip_keeps_meta(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    source = ({"p": str(i), "meta": {"n": i, "k": [i] * (i % 2)}} for i in range(2_500))
    num_rows = write_parquet(path, source)
    rows = rows_in(path)
    assert num_rows == len(rows) == 2_500
    assert isinstance(rows[-1], ReadRow)
    assert json.loads(rows[-1].values["meta"]) == {"n": 2_499, "k": [2_499]}


def test_fraction_read_reaches_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(GOOD * 10_000)
    with open_rows(path) as stream:
        before = stream.fraction_read()
        for _ in stream.rows:
            pass
        assert (before, stream.fraction_read()) == (0.0, 1.0)


def test_missing_file_and_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no file"), regular_file(tmp_path / "absent.jsonl"):
        pass
    with pytest.raises(InvalidInputError, match="is a directory"), regular_file(tmp_path):
        pass


def test_pipe_can_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[GOOD])
    writer.start()
    with regular_file(pipe) as path:
        assert path != pipe
        assert rows_in(path) == rows_in(path) == [ReadRow(1, {"a": 1})]
    writer.join()
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "source"), [("data/gsm8k.jsonl.gz", "gsm8k"), ("-", "stdin"), ("a b.csv", "a b"), (".x", ".x")]
)
def test_source_name_follows_file_name(name: str, source: str) -> None:
    assert source_name(name) == source


def test_partially_read_list_closes_cleanly(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text('[{"a": 1}, {"a": 2}]')
    with open_rows(file) as stream:
        rows = iter(stream.rows)
        next(rows)
    rows.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(rows)
