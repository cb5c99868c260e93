"""A training that is killed or starved of disk loses nothing that it had saved."""

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.children import PROGRAM
from support.small_disk import small_disk_in
from support.training import Workshop

from tunix_rt.core.errors import StorageError

LONG = (
    "--set",
    "training.num_steps=60",
    "--set",
    "output.save_every_steps=2",
    "--set",
    "eval.every_steps=20",
)
# To import torch and its companions takes longer than to train.
NUM_KILLS = {"jax": 3, "torch": 2}
WAIT_S = 120

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unbroken(workshop: Workshop) -> str:
    workshop.train("unbroken", *LONG[1::2])
    return "unbroken"


def wait_for(child: "subprocess.Popen[str]", ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while child.poll() is None and not ready():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def num_lines(run: Path) -> int:
    file = run / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def is_saving(run: Path) -> bool:
    unfinished = ("checkpoints/*orbax-checkpoint-tmp*", "checkpoints/*.tmp-*")
    return any(found for pattern in unfinished for found in run.glob(pattern))


def test_a_run_killed_again_and_again_ends_as_an_unbroken_one(workshop: Workshop, unbroken: str) -> None:
    dice = random.Random(7)
    run = workshop.root / "killed"
    moments = []
    for number in range(NUM_KILLS[workshop.engine]):
        child = workshop.start("killed", *LONG, "--resume")
        with child:
            target = num_lines(run) + dice.randint(1, 12)
            wait_for(child, lambda target=target: num_lines(run) >= target)
            if number % 2:
                wait_for(child, lambda: is_saving(run))
            moments.append(is_saving(run))
            child.kill()
        assert child.returncode == -signal.SIGKILL
    assert any(moments), "no kill hit a save"
    done = workshop.run_child("killed", *LONG, "--resume")
    assert done.returncode == 0, done.stderr
    assert workshop.weights("killed") == workshop.weights(unbroken)
    assert workshop.metrics("killed") == workshop.metrics(unbroken)
    assert not is_saving(run)


def test_a_second_signal_ends_the_process_at_once(workshop: Workshop) -> None:
    run = workshop.root / "stopped-twice"
    child = workshop.start("stopped-twice", *LONG)
    with child:
        wait_for(child, lambda: (run / "checkpoints" / "4").exists())
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        child.wait(timeout=WAIT_S)
    assert child.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert workshop.kept_steps("stopped-twice")


def test_a_disk_that_is_full_stops_the_run_and_keeps_the_earlier_checkpoints(
    workshop: Workshop, small_disk: Path
) -> None:
    sets = ("output.save_every_steps=3",)
    output = str(small_disk / "run")
    workshop.train(output, *sets, "training.num_steps=6")
    before = workshop.kept_steps(output)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 1_000_000))
    with pytest.raises(StorageError, match=r"the disk is full.*--resume"):
        workshop.train(output, *sets, resume_from="latest")
    assert workshop.kept_steps(output) == before
    assert workshop.manifest(output)["failure"]["code"] == "storage"
    ballast.unlink()
    assert workshop.train(output, *sets, resume_from="latest").status == "succeeded"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk on which a few checkpoints of the tiny model fit."""
    with small_disk_in(tmp_path, megabytes=64) as disk:
        yield disk


def test_a_checkpoint_that_cannot_be_written_to_its_end_is_explained(workshop: Workshop) -> None:
    limited = ["bash", "-c", 'ulimit -f 97; exec "$@"', "bash", *PROGRAM]
    done = subprocess.run(
        [*limited, *workshop.command("limited", *LONG)],
        env=workshop.environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 1, done.stderr
    assert "A checkpoint cannot be written" in done.stderr
    assert "the disk is full" in done.stderr
    assert workshop.kept_steps("limited") == []
