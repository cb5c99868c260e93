"""The `tunix-rt models` commands."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.models import plain_model, sqlite_home, succeeded_run
from typer.testing import CliRunner

from tunix_rt.base.errors import ConflictError, InvalidInputError, TunixRTError
from tunix_rt.base.home import Home, open_home
from tunix_rt.cli.main import app


@pytest.fixture
def home(sqlite_template: Path, tmp_path: Path) -> Home:
    store = open_home(sqlite_home(sqlite_template, tmp_path / "home"))
    succeeded_run(store)
    store.close()
    return store


def run(*arguments: str, exit_code: int = 0) -> str:
    done = CliRunner().invoke(app, ["models", *arguments])
    if isinstance(done.exception, TunixRTError):
        raise done.exception
    assert done.exit_code == exit_code, done.output
    return done.stdout


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_version_lifecycle_from_register_to_gc(home: Home, tmp_path: Path) -> None:
    assert "models register NAME --run RUN" in run("list")
    made = run_json(
        "register", "demo", "--run", "first", "--alias", "champion", "--tag", "team=a", "--label", "v1.0"
    )
    assert (made["version"], made["is_new"], made["aliases"], made["tags"]) == (
        1,
        True,
        ["champion"],
        {"team": "a"},
    )
    assert "already" in run("register", "demo", "--run", str(home.settings.runs_dir / "first"))
    assert run_json("list")["data"][0]["aliases"] == {"champion": 1}
    assert "first" in run("show", "demo")
    assert "demo:1 (v1.0)" in run("show", "demo@champion")
    assert "library_name" in run("show", "demo", "--card")

    report = run_json("export", "demo@champion", "--as", "zip", "--output", str(tmp_path / "demo.zip"))
    assert (report["passed"], report["is_same_bytes"]) == (True, True)
    with zipfile.ZipFile(tmp_path / "demo.zip") as archive:
        assert sorted(archive.namelist()) == ["README.md", "config.json", "model.safetensors"]
    assert json.loads((tmp_path / "demo.zip.tunix_rt_export.json").read_text()) == report

    with pytest.raises(ConflictError, match="unalias demo@champion"):
        run("rm", "demo:1")
    run("unalias", "demo@champion")
    run("rm", "demo:1")
    assert run_json("gc")["num_files"] == 2


def test_tags_and_notes_are_editable(home: Home) -> None:
    run("register", "demo", "--run", "first")
    assert run("tag", "demo", "team=a", "stage=test").strip() == "demo:1: stage=test, team=a"
    assert run_json("tag", "demo:1", "--remove", "team")["tags"] == {"stage": "test"}
    assert run("note", "demo:1", "good at sums").strip() == "demo:1: good at sums"
    assert "good at sums" in run("show", "demo:1")


def test_verify_names_damaged_file(home: Home) -> None:
    run("register", "demo", "--run", "first")
    assert "intact" in run("verify")
    for blob in home.settings.models_dir.glob("blobs/*/*"):
        blob.chmod(0o644)
        blob.write_text("damaged")
    assert "config.json" in run("verify", "demo", exit_code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo"],
        ["demo", "--run", "first", "--directory", "."],
        ["demo", "--directory", ".", "--step", "3"],
        ["demo", "--run", "first", "--tag", "no-value"],
        ["demo", "--run", "first", "--label", "7"],
    ],
)
def test_contradictory_registrations_are_rejected(home: Home, arguments: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        run("register", *arguments)


def test_invalid_exports_are_rejected(home: Home, tmp_path: Path) -> None:
    run("register", "demo", "--directory", str(plain_model(tmp_path / "elsewhere")))
    with pytest.raises(ConflictError, match="already exists"):
        run("export", "demo", "--as", "zip", "--output", str(tmp_path))
    with pytest.raises(InvalidInputError, match="--as merged"):
        run("export", "demo", "--as", "adapter", "--output", str(tmp_path / "new"))
