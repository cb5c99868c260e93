"""A training that is killed or runs out of disk loses nothing that it had saved."""

import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.small_disk import small_disk_in
from support.training import TrainingWorkspace

from tunix_rt.base.errors import StorageError

LONG = (
    "--set",
    "training.num_steps=32",
    "--set",
    "output.save_every_steps=2",
    "--set",
    "eval.every_steps=16",
)
# Slow: six kills. Two are enough to kill a training between saves and during a save.
NUM_KILLS = [2, pytest.param(6, marks=pytest.mark.slow)]
WAIT_S = 120


@pytest.fixture(scope="module")
def uninterrupted(workspace: TrainingWorkspace) -> str:
    workspace.train("uninterrupted", *LONG[1::2])
    return "uninterrupted"


def wait_for(child: "subprocess.Popen[str]", ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while child.poll() is None and not ready():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def num_lines(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def is_saving(run: Path) -> bool:
    unfinished = ("checkpoints/*orbax-checkpoint-tmp*", "checkpoints/*.tmp-*")
    return any(found for pattern in unfinished for found in run.glob(pattern))


@pytest.mark.parametrize("num_kills", NUM_KILLS)
def test_killed_run_resumes_exactly(workspace: TrainingWorkspace, uninterrupted: str, num_kills: int) -> None:
    rng = random.Random(7)
    name = f"killed-{num_kills}"
    run = workspace.root / name
    kills_during_save = []
    for number in range(num_kills):
        child = workspace.start(name, *LONG, "--resume")
        with child:
            target = num_lines(run) + rng.randint(1, 24 // num_kills)
            wait_for(child, lambda target=target: num_lines(run) >= target)
            if number % 2:
                wait_for(child, lambda: is_saving(run))
            kills_during_save.append(is_saving(run))
            child.kill()
        assert child.returncode == -signal.SIGKILL
    assert any(kills_during_save), "no kill hit a save"
    assert workspace.train(name, *LONG[1::2], resume_from="latest").status == "succeeded"
    assert workspace.weights(name) == workspace.weights(uninterrupted)
    assert workspace.metrics(name) == workspace.metrics(uninterrupted)
    assert not is_saving(run)


def test_second_signal_kills_process(workspace: TrainingWorkspace) -> None:
    run = workspace.root / "stopped-twice"
    sets = ("--set", "training.num_steps=1000", "--set", "output.save_every_steps=2")
    child = workspace.start("stopped-twice", *sets)
    with child:
        wait_for(child, lambda: (run / "checkpoints" / "4").exists())
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        child.wait(timeout=WAIT_S)
    assert child.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert workspace.kept_steps("stopped-twice")


def test_full_disk_keeps_earlier_checkpoints(workspace: TrainingWorkspace, small_disk: Path) -> None:
    sets = ("output.save_every_steps=3",)
    output = str(small_disk / "run")
    workspace.train(output, *sets, "training.num_steps=6")
    before = workspace.kept_steps(output)
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 1_000_000))
    with pytest.raises(StorageError, match=r"the disk is full.*--resume"):
        workspace.train(output, *sets, resume_from="latest")
    assert workspace.kept_steps(output) == before
    assert workspace.manifest(output)["failure"]["code"] == "storage"
    filler.unlink()
    assert workspace.train(output, *sets, resume_from="latest").status == "succeeded"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk on which a few checkpoints of the tiny model fit."""
    with small_disk_in(tmp_path, megabytes=64) as disk:
        yield disk


def test_failed_checkpoint_write_is_explained(workspace: TrainingWorkspace, uninterrupted: str) -> None:
    # The programs of the uninterrupted run are already compiled, so only the checkpoint exceeds the limit.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (97 * 1024, before[1]))
    try:
        with pytest.raises(StorageError, match=r"A checkpoint cannot be written.*the disk is full") as failed:
            workspace.train("limited", *LONG[1::2])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert failed.value.exit_code == 1
    assert workspace.kept_steps("limited") == []
