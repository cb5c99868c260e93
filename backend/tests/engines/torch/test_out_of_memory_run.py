"""Out of memory while training: explained with the plan, fixed by the suggested flag, and resumed."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.training import Workshop, make_workshop

from tunix_rt.base.errors import DoesNotFitError

ADDRESS_LIMIT = 64 * 2**30
# Who sees whom in a row of a million tokens is a terabyte.
ENDLESS_ROWS = ("data.row_length=1048576", "training.batch_size=2", "training.attention=dense")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    root = tmp_path_factory.mktemp("workshop")
    return make_workshop(root, "torch")


@contextmanager
def limited_memory() -> Iterator[None]:
    """The allocator refuses at once, whatever the kernel would promise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_the_error_names_the_plan_and_the_flag_that_helps(workshop: Workshop) -> None:
    with limited_memory(), pytest.raises(DoesNotFitError) as caught:
        workshop.train("endless", *ENDLESS_ROWS, is_forced=True)
    assert caught.value.exit_code == 5
    assert "The device ran out of memory. Planned: " in caught.value.detail
    assert "--resume --set training.gradient_accumulation_steps=2:" in caught.value.next_step
    manifest = workshop.manifest("endless")
    assert (manifest["status"], manifest["exit_code"], manifest["is_forced"]) == ("failed", 5, True)
    plan = json.loads((workshop.root / "endless" / "plan.json").read_bytes())
    assert (plan["source"], plan["fits"]) == ("estimated", False)


def test_a_run_goes_on_with_smaller_parts_of_the_same_batch(workshop: Workshop) -> None:
    workshop.train("whole")
    workshop.train("parts", "training.num_steps=6")
    finer = "training.gradient_accumulation_steps=4"
    assert workshop.train("parts", finer, resume_from="latest").status == "succeeded"
    losses, expected = (
        [line["loss"] for line in workshop.metrics(name) if "loss" in line] for name in ("parts", "whole")
    )
    assert losses == pytest.approx(expected, abs=1e-4)
    assert Path(workshop.root / "parts" / "model").is_dir()
