"""Suggested commands name the program and the home directory of the current invocation."""

import sys
from pathlib import Path

import pytest

from tunix_rt.system.views import as_called, program


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in an inactive virtual environment, called from its parent directory."""
    path = tmp_path / ".venv" / "bin" / "tunix-rt"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TUNIX_RT_HOME", raising=False)
    return path


def test_program_outside_path_uses_its_path(installed: Path) -> None:
    assert as_called("eval list") == ".venv/bin/tunix-rt eval list"


def test_program_on_path_uses_its_name(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    assert as_called("eval list") == "tunix-rt eval list"


def test_same_name_elsewhere_is_not_used(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "tunix-rt"
    other.parent.mkdir()
    other.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program() == ".venv/bin/tunix-rt"


@pytest.mark.parametrize(
    ("home", "prefix"),
    [(".demo", ".demo"), ("{here}/.demo", ".demo"), ("/srv/two words", "'/srv/two words'"), ("", None)],
)
def test_custom_home_is_prefixed(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, prefix: str | None
) -> None:
    monkeypatch.setenv("TUNIX_RT_HOME", home.format(here=tmp_path))
    command = as_called("up")
    assert command == (f"TUNIX_RT_HOME={prefix} " if prefix else "") + ".venv/bin/tunix-rt up"


def test_module_uses_python_m(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/anywhere/tunix_rt/cli/__main__.py"])
    assert program().endswith(f"{Path(sys.executable).name} -m tunix_rt.cli")
