"""A write that runs out of space fails with a clear error, keeps existing data and can be retried."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import PROGRAM, environment, run_here
from support.small_disk import small_disk_in
from support.stores import apple_lines, assert_consistent

from tunix_rt.base.home import open_home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.datasets.service import verify_dataset
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace

NUM_TRACES = 6_000
NUM_STORED = 100
KIB = 1024
# Sets the limit in the child and then replaces itself: forking is unsafe once JAX is loaded here.
LIMIT_FILE_SIZE = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return apple_lines(NUM_TRACES)


@pytest.fixture
def file(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def store_traces(settings: Settings, lines: list[str]) -> None:
    store = open_home(settings)
    TraceRepository(store.database).add_many([(Trace.model_validate_json(line), line) for line in lines])
    store.close()


def run_without_space(settings: Settings, max_file_bytes: int, *arguments: str | Path) -> None:
    """Run a command under a file size limit and check that it fails with a space error."""
    limit = [sys.executable, "-c", LIMIT_FILE_SIZE, str(max_file_bytes)]
    done = subprocess.run(
        [*limit, *PROGRAM, *map(str, arguments)],
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert_space_error(done)


def assert_space_error(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done
    assert done.stderr.startswith("error: ")
    assert "\nnext:  " in done.stderr
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr.lower()


@pytest.mark.parametrize("free_kib", [8, 900])
def test_failed_import_keeps_stored_traces(
    tmp_path: Path, file: Path, lines: list[str], free_kib: int
) -> None:
    settings = Settings(home=tmp_path / "home")
    store_traces(settings, lines[:NUM_STORED])
    size = (settings.home_dir / "tunix_rt.db").stat().st_size
    run_without_space(settings, size + free_kib * KIB, "traces", "import", file)
    assert NUM_STORED <= assert_consistent(settings, lines) < NUM_TRACES
    assert run_here("traces", "import", file, settings=settings).returncode == 0
    assert assert_consistent(settings, lines) == NUM_TRACES


@pytest.mark.parametrize("max_kib", [1, 512])
def test_failed_build_leaves_no_dataset(tmp_path: Path, lines: list[str], max_kib: int) -> None:
    settings = Settings(home=tmp_path / "home")
    store_traces(settings, lines)
    run_without_space(settings, max_kib * KIB, "data", "build", "--name", "full")
    assert dataset_keys(settings.datasets_dir) == []
    assert not list(settings.datasets_dir.glob(".building-*"))
    assert run_here("data", "build", "--name", "full", settings=settings).returncode == 0
    assert verify_dataset(settings.datasets_dir, "full-v1").intact


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_failed_export_keeps_old_file(tmp_path: Path, lines: list[str], name: str) -> None:
    settings = Settings(home=tmp_path / "home")
    store_traces(settings, lines)
    target = tmp_path / "exports" / name
    target.parent.mkdir()
    target.write_text("old export")
    export = ("traces", "export", "--output", target)
    run_without_space(settings, 32 * KIB, *export)
    assert target.read_text() == "old export"
    assert list(target.parent.iterdir()) == [target]
    assert run_here(*export, settings=settings).returncode == 0


def test_failed_generate_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "made" / "traces.jsonl"
    settings = Settings(home=tmp_path / "home")
    run_without_space(settings, 16 * KIB, "traces", "generate", "--count", "200", "--output", target)
    assert list(target.parent.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    with small_disk_in(tmp_path, megabytes=4) as disk:
        yield disk


def test_full_disk_loses_no_data(small_disk: Path, file: Path, lines: list[str]) -> None:
    settings = Settings(home=small_disk / "home")
    store_traces(settings, lines[:NUM_STORED])
    ballast = small_disk / "ballast"
    for leave_kib, command in (
        (200, ("traces", "import", file)),
        (48, ("data", "build", "--name", "full")),
        (0, ("data", "build", "--name", "full")),
    ):
        fill(small_disk, ballast, leave=leave_kib * KIB)
        assert_space_error(run_here(*command, settings=settings))
        ballast.unlink()
    assert NUM_STORED <= assert_consistent(settings, lines) < NUM_TRACES
    assert run_here("data", "build", "--name", "full", settings=settings).returncode == 0
    assert verify_dataset(settings.datasets_dir, "full-v1").intact


def fill(disk: Path, ballast: Path, *, leave: int) -> None:
    """Fill the disk until `leave` bytes are free."""
    free = shutil.disk_usage(disk).free
    ballast.write_bytes(b"x" * max(0, free - leave))
