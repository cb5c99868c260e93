"""The wheel is reproducible and contains everything the program needs."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from supply_chain.locked import ROOT
from supply_chain.wheel import PACKAGE, build_wheel, sha256


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web app of two files in place of the built one."""
    directory = tmp_path_factory.mktemp("web")
    (directory / "assets").mkdir()
    (directory / "assets" / "index-1a2b3c.js").write_text("start()")
    (directory / "index.html").write_text("<title>Tunix RT</title>")
    return directory


@pytest.fixture(scope="module")
def wheel(web: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("first"), web=web)


def test_wheel_build_is_reproducible(wheel: Path, web: Path, tmp_path: Path) -> None:
    (web / "index.html").chmod(0o600)
    os.utime(web / "index.html", (1, 1))
    again = build_wheel(tmp_path / "again", web=web)
    assert again.name == wheel.name
    assert sha256(again) == sha256(wheel)


def test_wheel_contains_every_package_file(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--", PACKAGE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = {
        name.removeprefix("backend/") for name in listed.stdout.splitlines() if (ROOT / name).is_file()
    }
    assert len(tracked) > 300
    with zipfile.ZipFile(wheel) as archive:
        assert tracked - set(archive.namelist()) == set()


@pytest.mark.parametrize(
    "name",
    [
        "web/index.html",
        "web/assets/index-1a2b3c.js",
        "assets/recipes/demo.yaml",
        "assets/evalsets/eval_v2.jsonl",
        "assets/datasets/demo-arithmetic-v2/traces.jsonl",
        "assets/tokenizers/tiny/tokenizer.json",
        "base/db/migrations/script.py.mako",
        "py.typed",
    ],
)
def test_wheel_contains_the_assets(wheel: Path, name: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert f"tunix_rt/{name}" in archive.namelist()


def test_wheel_contains_only_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        roots = {name.split("/")[0] for name in archive.namelist()}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"tunix_rt"}


def test_wheel_requires_the_web_app(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="make web"):
        build_wheel(tmp_path, web=tmp_path / "nothing")
