"""The plan of the very step that will run: compiled for the devices at hand, compared with their memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tunix_rt.core.plan import Plan
from tunix_rt.engines.device_targets import device_target
from tunix_rt.engines.does_not_fit import does_not_fit, with_advice
from tunix_rt.engines.jax.aot import compile_program
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import StepMetrics, TrainState
from tunix_rt.engines.jax.step import DeviceBatch
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.engines.preparation import Prepared

CompiledTrainStep = Callable[[TrainState, Any, DeviceBatch], tuple[TrainState, StepMetrics]]


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
    return Fitted(with_advice(compiled_plan(question, step), question), executable)
