"""The plan of the step that will run: estimated for the device at hand, compared with its memory."""

from tunix_rt.core.plan import Plan
from tunix_rt.engines.device_targets import device_target
from tunix_rt.engines.does_not_fit import with_advice
from tunix_rt.engines.planning.planner import PlanQuestion, estimated_plan
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.torch.devices import TorchDevice


def plan_run(prepared: Prepared, device: TorchDevice) -> Plan:
    """The plan, with what would make it fit if it does not."""
    question = PlanQuestion(
        prepared.recipe,
        prepared.source.architecture,
        device_target(device),
        Workload(num_steps=prepared.num_steps),
        engine="torch",
    )
    return with_advice(estimated_plan(question), question)
