"""What `doctor --determinism` makes of two runs: equal to the last bit, or by how much not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.children import run_here

from tunix_rt.engines.parity.check import compare_runs, compare_weights
from tunix_rt.engines.parity.runs import FinishedRun
from tunix_rt.engines.parity.types import DeterminismReport, ParityRun, RepeatedRun
from tunix_rt.engines.types import Platform


def finished(directory: Path, *losses: float, weight: float = 1.0) -> FinishedRun:
    directory.mkdir()
    save_file({"up": np.full((2, 3), weight, np.float32)}, directory / "model.safetensors")
    hashes = tuple(str(step) for step in range(len(losses)))
    record = ParityRun(engine="jax", packages={}, losses=losses, batch_hashes=hashes)
    return FinishedRun(record, "demo-v1", "abc", directory)


def report(*repeats: RepeatedRun) -> DeterminismReport:
    return DeterminismReport(
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        tunix_rt_version="0",
        recipe_name="tiny",
        recipe={},
        overrides=(),
        num_steps=3,
        repeats=repeats,
    )


def repeated(tmp_path: Path, platform: Platform, **second: Any) -> RepeatedRun:
    first = finished(tmp_path / f"{platform}-1", 3.0, 2.0, 1.0)
    losses = second.pop("losses", (3.0, 2.0, 1.0))
    return compare_runs(platform, first, finished(tmp_path / f"{platform}-2", *losses, **second))


def test_two_equal_runs_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    one = repeated(tmp_path, "cpu")
    assert one.is_bit_equal
    assert (one.num_equal_steps, one.max_loss_difference, one.max_weight_difference) == (3, 0, 0)
    assert report(one).passed


def test_the_first_step_that_differs_and_the_largest_differences_are_found(tmp_path: Path) -> None:
    one = repeated(tmp_path, "cpu", losses=(3.0, 2.25, 1.5), weight=1.125)
    assert not one.is_bit_equal
    assert (one.num_equal_steps, one.max_loss_difference) == (1, 0.5)
    assert (one.max_weight_difference, one.max_weight_difference_tensor) == (0.125, "up")


def test_weights_that_differ_behind_equal_losses_are_not_equal(tmp_path: Path) -> None:
    assert not repeated(tmp_path, "cpu", weight=1.0000001).is_bit_equal


def test_a_cpu_that_differs_fails_and_a_gpu_that_differs_is_only_measured(tmp_path: Path) -> None:
    same, gpu = repeated(tmp_path, "cpu"), repeated(tmp_path, "gpu", weight=1.5)
    assert report(same, gpu).passed
    assert not report(gpu.model_copy(update={"platform": "cpu"})).passed
    assert [one["is_bit_equal"] for one in report(same, gpu).to_json()["repeats"]] == [True, False]


def test_bfloat16_weights_are_compared_without_a_library_that_knows_them(tmp_path: Path) -> None:
    for name, value in (("a", 1.0), ("b", 1.25)):
        (tmp_path / name).mkdir()
        upper_halves = (np.full(4, value, np.float32).view(np.uint32) >> 16).astype("<u2")
        header = b'{"up":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}'
        file = len(header).to_bytes(8, "little") + header + upper_halves.tobytes()
        (tmp_path / name / "model.safetensors").write_bytes(file)
    difference = compare_weights(tmp_path / "a", tmp_path / "b")
    assert (difference.largest, difference.num_weights) == (0.25, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tiny.yaml"], "--determinism tiny.yaml"),
        (["--determinism", "--parity", "tiny.yaml"], "cannot be combined"),
    ],
)
def test_flags_that_do_not_belong_together_are_refused(arguments: list[str], words: str) -> None:
    done = run_here("doctor", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
