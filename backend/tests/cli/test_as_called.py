"""Commands to copy: they name the program and the home that they were printed by."""

import sys
from pathlib import Path

import pytest

from tunix_rt.system.views import as_called, program


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in an environment that is not active, called from beside it."""
    path = tmp_path / ".venv" / "bin" / "tunix-rt"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TUNIX_RT_HOME", raising=False)
    return path


def test_a_program_outside_path_is_named_by_its_path(installed: Path) -> None:
    assert as_called("eval list") == ".venv/bin/tunix-rt eval list"


def test_the_name_suffices_if_path_finds_the_program(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    assert as_called("eval list") == "tunix-rt eval list"


def test_another_program_of_that_name_is_not_taken_for_it(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "tunix-rt"
    other.parent.mkdir()
    other.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program() == ".venv/bin/tunix-rt"


@pytest.mark.parametrize(
    ("home", "named"),
    [(".demo", ".demo"), ("{here}/.demo", ".demo"), ("/srv/two words", "'/srv/two words'"), ("", None)],
)
def test_a_home_of_its_own_is_named(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, named: str | None
) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", home.format(here=tmp_path))
    called = as_called("up")
    assert called == (f"TUNIX_RT_HOME={named} " if named else "") + ".venv/bin/tunix-rt up"


def test_a_module_is_called_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/anywhere/tunix_rt/cli/__main__.py"])
    assert program().endswith(f"{Path(sys.executable).name} -m tunix_rt.cli")
