"""Reading files while they grow and after they are truncated."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tunix_rt.base.errors import StorageError
from tunix_rt.base.files.jsonl import keep_json_lines
from tunix_rt.runs.live import GrowingFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lines.jsonl"


@pytest.fixture
def file(path: Path) -> Iterator[GrowingFile]:
    opened = GrowingFile(path)
    yield opened
    opened.close()


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as opened:
        opened.write(text)


def write_steps(path: Path, *steps: int, note: str = "") -> None:
    append(path, "".join(f'{{"step": {step}, "note": "{note}"}}\n' for step in steps))


def test_refresh_sees_new_file_and_growth(path: Path, file: GrowingFile) -> None:
    assert not file.refresh()
    assert file.read(0, 10) == b""
    append(path, "one\n")
    assert file.read(0, 10) == b"", "nothing changes until the next refresh"
    assert file.refresh()
    assert file.read(0, 10) == b"one\n"
    append(path, "two\n")
    assert file.refresh()
    assert not file.refresh()
    assert (file.read(4, 2), file.read(4, 10)) == (b"tw", b"two\n")
    assert file.read(8, 10) == file.read(99, 1) == b""
    assert file.version == 0


def test_truncation_keeps_common_prefix(path: Path, file: GrowingFile) -> None:
    write_steps(path, 1, 2, 3, 4, note="first")
    file.refresh()
    length = file.num_bytes
    keep_json_lines(path, lambda line: line["step"] <= 2)
    write_steps(path, 3, 4, 5, note="again")
    assert file.refresh()
    assert file.version == 1
    assert file.valid_prefix(length, 0) == length // 2
    assert file.valid_prefix(length // 4, 0) == length // 4
    assert file.valid_prefix(length, 1) == length
    assert file.line_before(file.valid_prefix(length, 0)) == b'{"step": 2, "note": "first"}\n'


def test_truncations_between_refreshes_count_once(path: Path, file: GrowingFile) -> None:
    write_steps(path, 1, 2, 3, note="first")
    file.refresh()
    length = file.num_bytes
    for last_kept in (2, 1):
        keep_json_lines(path, lambda line, last_kept=last_kept: line["step"] <= last_kept)
        write_steps(path, 2, 3, 4, note="again")
    file.refresh()
    assert (file.version, file.valid_prefix(length, 0)) == (1, length // 3)


def test_identical_rewrite_keeps_whole_prefix(path: Path, file: GrowingFile) -> None:
    write_steps(path, *range(5_000))
    append(path, '{"step": 9')  # Cut off when the process died.
    file.refresh()
    whole = path.read_bytes().rfind(b"\n") + 1
    keep_json_lines(path, lambda line: True)
    write_steps(path, 5_000)
    file.refresh()
    assert (file.version, file.valid_prefix(whole, 0)) == (1, whole)
    assert file.read(whole, 100) == b'{"step": 5000, "note": ""}\n'


def test_overwritten_file_is_read_from_start(path: Path, file: GrowingFile) -> None:
    append(path, "a long line\n")
    file.refresh()
    path.write_text("new\n")
    file.refresh()
    assert (file.valid_prefix(12, 0), file.read(0, 10)) == (0, b"new\n")


def test_line_before_offset_is_found(path: Path, file: GrowingFile) -> None:
    long = "x" * 200_000
    append(path, f"short\n{long}\nend\n")
    file.refresh()
    assert file.line_before(6) == b"short\n"
    assert file.line_before(6 + 200_001) == f"{long}\n".encode()
    assert file.line_before(0) == file.line_before(file.num_bytes + 1) == b""


def test_last_lines_are_found_from_end(path: Path, file: GrowingFile) -> None:
    append(path, "one\ntwo\n\ntorn")
    file.refresh()
    assert [file.offset_of_last_lines(number) for number in range(6)] == [13, 9, 8, 4, 0, 0]


def test_deleted_open_file_stays_readable(path: Path, file: GrowingFile) -> None:
    append(path, "one\n")
    file.refresh()
    path.unlink()
    assert not file.refresh()
    assert file.read(0, 10) == b"one\n"


def test_unreadable_path_raises_storage_error(tmp_path: Path) -> None:
    (tmp_path / "name").write_text("a file")
    with pytest.raises(StorageError, match="permission"):
        GrowingFile(tmp_path / "name" / "lines.jsonl").refresh()
