"""Out of memory during training: the error cites the plan, and the suggested flag resumes the run."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.training import TrainingWorkspace

from tunix_rt.base.errors import DoesNotFitError

ADDRESS_LIMIT = 64 * 2**30
# The dense attention mask of a row of a million tokens takes a terabyte.
HUGE_ROWS = ("data.row_length=1048576", "training.batch_size=2", "training.attention=dense")


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit the address space: the allocator fails at once, even where the kernel would overcommit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_error_cites_plan_and_flag(workspace: TrainingWorkspace) -> None:
    with limited_memory(), pytest.raises(DoesNotFitError) as error:
        workspace.train("huge", *HUGE_ROWS, is_forced=True)
    assert error.value.exit_code == 5
    assert "The device ran out of memory. Planned: " in error.value.detail
    assert "--resume --set training.gradient_accumulation_steps=2:" in error.value.next_step
    manifest = workspace.manifest("huge")
    assert (manifest["status"], manifest["exit_code"], manifest["is_forced"]) == ("failed", 5, True)
    plan = json.loads((workspace.root / "huge" / "plan.json").read_bytes())
    assert (plan["source"], plan["fits"]) == ("estimated", False)


def test_resumes_with_smaller_micro_batches(workspace: TrainingWorkspace) -> None:
    workspace.train("whole")
    workspace.train("parts", "training.num_steps=6")
    smaller = "training.gradient_accumulation_steps=4"
    assert workspace.train("parts", smaller, resume_from="latest").status == "succeeded"
    losses, expected = (
        [line["loss"] for line in workspace.metrics(name) if "loss" in line] for name in ("parts", "whole")
    )
    assert losses == pytest.approx(expected, abs=1e-4)
    assert Path(workspace.root / "parts" / "model").is_dir()
