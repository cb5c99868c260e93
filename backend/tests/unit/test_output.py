"""How the command line talks where nobody looks."""

import io

import pytest

from tunix_rt.cli.output import err


def test_a_notebook_that_forces_colours_gets_no_moving_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not type(err)(file=io.StringIO()).is_terminal
