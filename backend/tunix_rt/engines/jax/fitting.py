"""The plan of the very step that will run: compiled for the devices at hand, compared with their memory."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tunix_rt.core.errors import DoesNotFitError
from tunix_rt.core.plan import Plan
from tunix_rt.core.targets import Target, known_target, target_of_device_kind
from tunix_rt.engines.jax.aot import compile_program
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import StepMetrics, TrainState
from tunix_rt.engines.jax.step import DeviceBatch
from tunix_rt.engines.planning.fixes import find_fixes
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, with_fixes
from tunix_rt.engines.planning.this_machine import cpu_target
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.engines.preparation import Prepared

CompiledTrainStep = Callable[[TrainState, Any, DeviceBatch], tuple[TrainState, StepMetrics]]

_UNKNOWN_CARD = "t4"


@dataclass(frozen=True)
class Fitted:
    """A step that was compiled, and what it needs."""

    plan: Plan
    train_step: CompiledTrainStep | None
    """None when the compiler itself refused: there is nothing that could be forced."""

    def require(self, *, is_forced: bool) -> CompiledTrainStep:
        """The compiled step.

        Raises:
            DoesNotFitError: It needs more memory than there is, and was not forced or could not be.
        """
        if self.train_step is None or not (self.plan.fits or is_forced):
            raise does_not_fit(self.plan, self.plan.reason)
        return self.train_step


def fit(program: Program, prepared: Prepared, choice: DeviceChoice) -> Fitted:
    """Compile the step, and plan with the compiler's figures."""
    target = device_target(choice)
    step, executable = compile_program(program)
    question = PlanQuestion(
        prepared.recipe, prepared.source.architecture, target, Workload(num_steps=prepared.num_steps)
    )
    plan = compiled_plan(question, step)
    if not plan.fits:
        fixes = find_fixes(question.recipe, question.architecture, target, question.workload)
        plan = with_fixes(plan, tuple(fixed.fix for fixed in fixes))
    return Fitted(plan, executable)


def device_target(choice: DeviceChoice) -> Target:
    """The devices at hand as a target: their own memory, and the speed of their kind."""
    target = cpu_target() if choice.platform == "cpu" else target_of_device_kind(choice.kind)
    if target is None:
        target = replace(
            known_target(_UNKNOWN_CARD),
            speed_source=f"{choice.kind} is not known here; that of a T4 is assumed",
        )
    return replace(
        target,
        name="local",
        description=f"{len(choice.devices)} x {choice.kind}",
        num_devices=len(choice.devices),
        memory_bytes=choice.memory_bytes or target.memory_bytes,
        memory_source="what the device reports" if choice.memory_bytes else target.memory_source,
        device_kind=choice.kind,
    )


def peak_flops(choice: DeviceChoice) -> float | None:
    """What all devices together could do at best; None where no figure is known, as for a CPU."""
    target = None if choice.platform == "cpu" else target_of_device_kind(choice.kind)
    return None if target is None else target.peak_flops * len(choice.devices)


def does_not_fit(plan: Plan, problem: str) -> DoesNotFitError:
    """The error with the advice of the plan."""
    advice = [f"{fix.change} ({_gib(fix.per_device_bytes)}: {fix.cost})" for fix in plan.fixes[:3]]
    return DoesNotFitError(
        problem,
        next_step=(f"Any of these would make it fit: {'; '.join(advice)}. " if advice else "")
        + "plan.json has the figures by component; --force runs it all the same.",
    )


def out_of_memory_error(plan: Plan, error: Exception) -> DoesNotFitError:
    """Out of memory at run time, against what was planned."""
    said = str(error).splitlines()[0]
    return does_not_fit(
        plan,
        f"The device ran out of memory. Planned: {_gib(plan.per_device_bytes)} of "
        f"{_gib(plan.limit_bytes)} a device ({plan.source}). The device said: {said}",
    )


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"
