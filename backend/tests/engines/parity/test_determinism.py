"""How `doctor --determinism` compares two runs: bit-equal, or by how much they differ."""

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


def make_run(directory: Path, *losses: float, weight: float = 1.0) -> FinishedRun:
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


def repeat_run(tmp_path: Path, platform: Platform, **second: Any) -> RepeatedRun:
    first = make_run(tmp_path / f"{platform}-1", 3.0, 2.0, 1.0)
    losses = second.pop("losses", (3.0, 2.0, 1.0))
    return compare_runs(platform, first, make_run(tmp_path / f"{platform}-2", *losses, **second))


def test_equal_runs_are_bit_equal(tmp_path: Path) -> None:
    comparison = repeat_run(tmp_path, "cpu")
    assert comparison.is_bit_equal
    assert comparison.num_equal_steps == 3
    assert (comparison.max_loss_difference, comparison.max_weight_difference) == (0, 0)
    assert report(comparison).passed


def test_largest_differences_are_located(tmp_path: Path) -> None:
    comparison = repeat_run(tmp_path, "cpu", losses=(3.0, 2.25, 1.5), weight=1.125)
    assert not comparison.is_bit_equal
    assert (comparison.num_equal_steps, comparison.max_loss_difference) == (1, 0.5)
    assert (comparison.max_weight_difference, comparison.max_weight_difference_tensor) == (0.125, "up")


def test_equal_losses_are_not_sufficient(tmp_path: Path) -> None:
    assert not repeat_run(tmp_path, "cpu", weight=1.0000001).is_bit_equal


def test_only_cpu_differences_fail(tmp_path: Path) -> None:
    equal_cpu, gpu = repeat_run(tmp_path, "cpu"), repeat_run(tmp_path, "gpu", weight=1.5)
    assert report(equal_cpu, gpu).passed
    assert not report(gpu.model_copy(update={"platform": "cpu"})).passed
    repeats = report(equal_cpu, gpu).to_json()["repeats"]
    assert [repeat["is_bit_equal"] for repeat in repeats] == [True, False]


def test_bfloat16_weights_are_compared(tmp_path: Path) -> None:
    """numpy has no bfloat16, so the test writes the bytes of the files itself."""
    for name, value in (("a", 1.0), ("b", 1.25)):
        (tmp_path / name).mkdir()
        upper_halves = (np.full(4, value, np.float32).view(np.uint32) >> 16).astype("<u2")
        header = b'{"up":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}'
        file = len(header).to_bytes(8, "little") + header + upper_halves.tobytes()
        (tmp_path / name / "model.safetensors").write_bytes(file)
    difference = compare_weights(tmp_path / "a", tmp_path / "b")
    assert (difference.largest, difference.num_weights) == (0.25, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny.yaml"], "--determinism tiny.yaml"),
        (["--determinism", "--parity", "tiny.yaml"], "cannot be combined"),
    ],
)
def test_incompatible_flags_are_rejected(arguments: list[str], message: str) -> None:
    done = run_here("doctor", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
