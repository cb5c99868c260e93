"""How the command line talks where nobody looks."""

import io

import pytest

from tunix_rt.base.terminal.output import counted, err, print_table


def test_a_notebook_that_forces_colours_gets_no_moving_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not type(err)(file=io.StringIO()).is_terminal


def test_a_piped_table_has_one_line_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    print_table(("id", "model", "answer"), [("e1", "a-run-with-a-long-name" * 4, "forty\ntwo" * 9)])
    _, row, *_ = capsys.readouterr().out.splitlines()
    assert row.split()[:2] == ["e1", "a-run-with-a-long-name" * 4]


@pytest.mark.parametrize(("number", "said"), [(0, "0 rows"), (1, "1 row"), (2_000, "2,000 rows")])
def test_one_of_a_thing_is_not_several(number: int, said: str) -> None:
    assert counted(number, "row") == said
