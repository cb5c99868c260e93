"""SIGKILL during imports and builds: the store stays consistent and the next command completes."""

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.children import environment, run_here, start_program
from support.stores import apple_lines, assert_consistent, num_stored

from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.datasets.service import verify_dataset
from tunix_rt.traces.importer import ROWS_PER_TRANSACTION
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import Trace

NUM_TRACES = 6_000
NUM_KILLS = 2
WAIT_S = 60
KEY = "killed-v1"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return apple_lines(NUM_TRACES)


@pytest.fixture
def file(tmp_path: Path, lines: list[str]) -> Path:
    path = tmp_path / "sums.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def kill_when(ready: Callable[[], bool], child: subprocess.Popen[str], delay_s: float) -> bool:
    """Send SIGKILL `delay_s` after `ready` holds. Return False if the child exited before that."""
    with child:
        deadline = time.monotonic() + WAIT_S
        while child.poll() is None and not ready():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(delay_s)
        has_exited = child.poll() is not None
        child.kill()
        return not has_exited


def test_killed_import_completes_on_rerun(
    store: Home, settings: Settings, file: Path, lines: list[str]
) -> None:
    rng = random.Random(7)
    num_before = 0
    for _ in range(NUM_KILLS):
        child = start_program("traces", "import", file, environ=environment(settings))
        kill_when(lambda before=num_before: num_stored(store) > before, child, rng.uniform(0, 0.2))
        num_after = assert_consistent(settings, lines)
        assert num_after > num_before or num_after == NUM_TRACES
        num_before = num_after
    result = run_here("traces", "import", file, settings=settings)
    assert (result.returncode, result.stderr) == (0, "")
    assert assert_consistent(settings, lines) == NUM_TRACES


def test_killed_import_keeps_whole_transactions(settings: Settings, file: Path, lines: list[str]) -> None:
    for delay_s in (0.2, 0.8):
        child = start_program("traces", "import", file, environ=environment(settings))
        kill_when(lambda: True, child, delay_s)
        assert assert_consistent(settings, lines) % ROWS_PER_TRANSACTION == 0


def test_next_build_removes_killed_build(store: Home, settings: Settings, lines: list[str]) -> None:
    TraceRepository(store.database).add_many([(Trace.model_validate_json(line), line) for line in lines])
    datasets_dir = settings.datasets_dir
    rng = random.Random(7)
    for delay_s in (0, rng.uniform(0, 0.3), rng.uniform(0, 0.6)):
        child = start_program("data", "build", "--name", "killed", environ=environment(settings))
        was_killed = kill_when(lambda: bool(leftovers(datasets_dir)), child, delay_s)
        if KEY in dataset_keys(datasets_dir):
            assert verify_dataset(datasets_dir, KEY).intact
        else:
            assert was_killed
            assert leftovers(datasets_dir)
    result = run_here("data", "build", "--name", "killed", settings=settings)
    assert result.returncode == 0, result.stderr
    assert leftovers(datasets_dir) == []
    verdict = verify_dataset(datasets_dir, KEY)
    assert verdict.intact, verdict


def leftovers(datasets_dir: Path) -> list[Path]:
    return list(datasets_dir.glob(".building-*"))
