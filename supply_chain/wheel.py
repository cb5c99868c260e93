"""`make wheel`: the same commit gives the same wheel, byte for byte, wherever and whenever it is built.

What decides its bytes is kept fixed: the files are those that git tracks and the built web app, in a fresh
directory with the same modes; the time is that of the commit; setuptools is the pinned one.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from supply_chain.locked import ROOT

PACKAGE = "backend/tunix_rt"
WEB = ROOT / PACKAGE / "web"
_SOURCES = ("pyproject.toml", "README.md", "LICENSE", PACKAGE)
_BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


def build_wheel(destination: Path, *, web: Path = WEB, epoch: str | None = None) -> Path:
    """Build the wheel of what is checked out.

    Args:
        destination: The directory that it is written to.
        web: The built web app.
        epoch: The time of every file, in seconds since 1970. None: that of the commit.

    Raises:
        SystemExit: The web app is not built, or this is no git checkout.
    """
    if not (web / "index.html").is_file():
        raise SystemExit(f"There is no web app in {web}. Run: make web")
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        stage = Path(directory)
        _copy_sources(stage)
        shutil.copytree(web, stage / PACKAGE / "web", copy_function=shutil.copyfile)
        _set_modes(stage)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch or commit_time()}
        command = [sys.executable, "-c", _BUILD, str(destination.resolve())]
        done = subprocess.run(
            command, cwd=stage, env=environment, stdout=subprocess.PIPE, text=True, umask=0o022
        )
        if done.returncode:
            raise SystemExit("setuptools could not build the wheel; what it said is above.")
        return destination / done.stdout.splitlines()[-1]


def commit_time() -> str:
    """When the checked-out commit was made, unless SOURCE_DATE_EPOCH says otherwise."""
    return os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct").strip()


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Build; with --same-as, also compare. Exit 1: another build of the same commit has other bytes."""
    parser = argparse.ArgumentParser(description="Build the wheel.")
    parser.add_argument("destination", type=Path)
    parser.add_argument("--web", type=Path, default=WEB, help="the built web app")
    parser.add_argument("--same-as", type=Path, help="a directory with a wheel that must be the same")
    asked = parser.parse_args(arguments)
    wheel = build_wheel(asked.destination, web=asked.web)
    print(f"{sha256(wheel)}  {wheel}")
    if asked.same_as is None:
        return 0
    is_same = sha256(asked.same_as / wheel.name) == sha256(wheel)
    print("both builds are the same, byte for byte" if is_same else "the two builds DIFFER: see diffoscope")
    return 0 if is_same else 1


def _copy_sources(stage: Path) -> None:
    for name in _git("ls-files", "-z", "--", *_SOURCES).split("\0"):
        if name and (ROOT / name).is_file():
            target = stage / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def _set_modes(stage: Path) -> None:
    for path in stage.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"The wheel is built from a git checkout: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
