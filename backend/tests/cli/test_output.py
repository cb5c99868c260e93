"""Terminal output when standard output is not a terminal."""

import io

import pytest

from tunix_rt.base.terminal.output import counted, err, print_table


def test_forced_colours_do_not_animate_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not type(err)(file=io.StringIO()).is_terminal


def test_piped_table_has_one_line_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("id", "model", "answer"), [("e1", "a-run-with-a-long-name" * 4, "forty\ntwo" * 9)])
    _, row, *_ = capsys.readouterr().out.splitlines()
    assert row.split()[:2] == ["e1", "a-run-with-a-long-name" * 4]


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (2_000, "2,000 rows")])
def test_counted_nouns_are_pluralized(number: int, text: str) -> None:
    assert counted(number, "row") == text
