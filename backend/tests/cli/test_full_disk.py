"""No space left in the middle of a write: a clear error, the old state whole, and later it works again."""

import resource
import shutil
import subprocess
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
NUM_BEFORE = 100
KIB = 1024


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return apple_lines(NUM_TRACES)


@pytest.fixture
def file(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def store_some(settings: Settings, lines: list[str]) -> None:
    store = open_home(settings)
    TraceRepository(store.database).add_many([(Trace.model_validate_json(line), line) for line in lines])
    store.close()


def run_starved(settings: Settings, max_file_bytes: int, *arguments: str | Path) -> None:
    """Run a command that cannot make any file larger; it must fail as errors do."""

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))

    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        env=environment(settings),
        preexec_fn=limit_files,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert_says_what_to_do(done)


def assert_says_what_to_do(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 1, done
    assert done.stderr.startswith("error: ")
    assert "\nnext:  " in done.stderr
    assert "Traceback" not in done.stderr
    assert "space" in done.stderr.lower()


@pytest.mark.parametrize("room_kib", [8, 900])
def test_an_import_without_room_keeps_what_was_there(
    tmp_path: Path, file: Path, lines: list[str], room_kib: int
) -> None:
    settings = Settings(home=tmp_path / "home")
    store_some(settings, lines[:NUM_BEFORE])
    size = (settings.home_dir / "tunix_rt.db").stat().st_size
    run_starved(settings, size + room_kib * KIB, "traces", "import", file)
    assert NUM_BEFORE <= assert_consistent(settings, lines) < NUM_TRACES
    assert run_here("traces", "import", file, settings=settings).returncode == 0
    assert assert_consistent(settings, lines) == NUM_TRACES


@pytest.mark.parametrize("max_kib", [1, 512])
def test_a_build_without_room_leaves_no_dataset(tmp_path: Path, lines: list[str], max_kib: int) -> None:
    settings = Settings(home=tmp_path / "home")
    store_some(settings, lines)
    run_starved(settings, max_kib * KIB, "data", "build", "--name", "full")
    assert dataset_keys(settings.datasets_dir) == []
    assert not list(settings.datasets_dir.glob(".building-*"))
    assert run_here("data", "build", "--name", "full", settings=settings).returncode == 0
    assert verify_dataset(settings.datasets_dir, "full-v1").intact


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_an_export_without_room_keeps_the_old_file(tmp_path: Path, lines: list[str], name: str) -> None:
    settings = Settings(home=tmp_path / "home")
    store_some(settings, lines)
    target = tmp_path / "exports" / name
    target.parent.mkdir()
    target.write_text("the export of last week")
    export = ("traces", "export", "--output", target)
    run_starved(settings, 32 * KIB, *export)
    assert target.read_text() == "the export of last week"
    assert list(target.parent.iterdir()) == [target]
    assert run_here(*export, settings=settings).returncode == 0


def test_generating_without_room_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "made" / "traces.jsonl"
    settings = Settings(home=tmp_path / "home")
    run_starved(settings, 16 * KIB, "traces", "generate", "--count", "200", "--output", target)
    assert list(target.parent.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    with small_disk_in(tmp_path, megabytes=4) as disk:
        yield disk


def test_a_disk_that_fills_up_loses_nothing(small_disk: Path, file: Path, lines: list[str]) -> None:
    settings = Settings(home=small_disk / "home")
    store_some(settings, lines[:NUM_BEFORE])
    ballast = small_disk / "ballast"
    for leave_kib, command in (
        (200, ("traces", "import", file)),
        (48, ("data", "build", "--name", "full")),
        (0, ("data", "build", "--name", "full")),
    ):
        fill(small_disk, ballast, leave=leave_kib * KIB)
        assert_says_what_to_do(run_here(*command, settings=settings))
        ballast.unlink()
    assert NUM_BEFORE <= assert_consistent(settings, lines) < NUM_TRACES
    assert run_here("data", "build", "--name", "full", settings=settings).returncode == 0
    assert verify_dataset(settings.datasets_dir, "full-v1").intact


def fill(disk: Path, ballast: Path, *, leave: int) -> None:
    """Take all the space but `leave` bytes."""
    free = shutil.disk_usage(disk).free
    ballast.write_bytes(b"x" * max(0, free - leave))
