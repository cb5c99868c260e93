"""Out-of-memory errors are distinguished from other errors and explained with the plan."""

import jax
import pytest
from support.programs import tiny_architecture, tiny_recipe

from tunix_rt.base.errors import DoesNotFitError
from tunix_rt.engines.jax.devices import is_out_of_memory
from tunix_rt.engines.jax.start import Fitted
from tunix_rt.engines.planning.planner import PlanQuestion, estimated_plan
from tunix_rt.engines.planning.targets import find_target
from tunix_rt.engines.planning.types import Plan, Workload

EXHAUSTED = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nmore")


def make_plan(**changes: object) -> Plan:
    question = PlanQuestion(tiny_recipe(), tiny_architecture(), find_target("h100"), Workload())
    return estimated_plan(question).model_copy(update=changes)


def test_only_xla_memory_errors_count() -> None:
    assert is_out_of_memory(EXHAUSTED)
    assert not is_out_of_memory(jax.errors.JaxRuntimeError("INTERNAL: broken"))
    assert not is_out_of_memory(ValueError("RESOURCE_EXHAUSTED: a disk"))


@pytest.mark.parametrize(
    ("fits", "is_compiled", "is_forced", "runs"),
    [
        (True, True, False, True),
        (False, True, True, True),
        (False, True, False, False),
        (False, False, True, False),
    ],
)
def test_force_requires_compiled_step(fits: bool, is_compiled: bool, is_forced: bool, runs: bool) -> None:
    step = (lambda *arguments: arguments) if is_compiled else None
    fitted = Fitted(make_plan(fits=fits), step)
    if runs:
        assert fitted.require(is_forced=is_forced) is step
    else:
        with pytest.raises(DoesNotFitError):
            fitted.require(is_forced=is_forced)
