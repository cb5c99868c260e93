"""Check that the machine matches the plan."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.engines.planning.fixes import advice_of
from tunix_rt.engines.planning.service import PlanOptions, PlanProgress, plan_recipe
from tunix_rt.engines.planning.targets import GIB, LOCAL, Target, find_target, target_of_device_kind
from tunix_rt.engines.planning.types import Plan
from tunix_rt.engines.select import ProbeAnswer, probe
from tunix_rt.engines.types import EngineName, Platform
from tunix_rt.kaggle.session import sessions_needed, training_seconds
from tunix_rt.recipes.types import Recipe

CheckName = Literal["devices", "memory", "session"]


class PreflightCheck(Record):
    """One check and its result."""

    name: CheckName
    passed: bool
    detail: str
    next_step: str | None = None
    """How to fix it; absent if the check passed."""


class Preflight(Record):
    """The checks in order; checks that depend on a failed one are skipped."""

    recipe: str
    target: str
    passed: bool
    checks: tuple[PreflightCheck, ...]


Probe = Callable[[EngineName, Platform], ProbeAnswer]

_SILENT = PlanProgress()
_WRONG_MACHINE = (
    "Choose the accelerator in the settings of the notebook (Session options), or write the notebook again "
    "for the available machine, with --on."
)


@dataclass(frozen=True)
class PreflightRequest:
    """The plan to check."""

    recipe_name: str
    recipe: Recipe
    target: str
    session_s: float
    num_sessions: int = 1
    """Planned number of sessions."""
    is_fast: bool = False
    """Use the estimate only, without a compiler."""


def run_preflight(
    settings: Settings,
    request: PreflightRequest,
    *,
    probe_devices: Probe = probe,
    progress: PlanProgress = _SILENT,
) -> Preflight:
    """Check the devices, then plan the recipe for them."""
    checks = tuple(_checks(settings, request, probe_devices, progress))
    return Preflight(
        recipe=request.recipe_name,
        target=request.target,
        passed=all(check.passed for check in checks),
        checks=checks,
    )


def _checks(
    settings: Settings, request: PreflightRequest, probe_devices: Probe, progress: PlanProgress
) -> Iterator[PreflightCheck]:
    target = find_target(request.target)
    answer = probe_devices("jax", target.platform)
    yield (devices := device_check(target, answer))
    if not devices.passed or answer.device is None:
        return
    measured_bytes = answer.device.memory_bytes
    if target.name != LOCAL and measured_bytes is not None and measured_bytes < target.memory_bytes:
        target = replace(target, memory_bytes=measured_bytes, memory_source="what the device reports")
    options = PlanOptions(is_fast=request.is_fast, session_seconds=request.session_s)
    plan = plan_recipe(settings, request.recipe, target, options, progress)
    yield memory_check(plan)
    yield session_check(plan, request.session_s, request.num_sessions)


def device_check(target: Target, answer: ProbeAnswer) -> PreflightCheck:
    """Whether the planned number and kind of devices is available."""
    device = answer.device
    planned = f"{target.num_devices} x {target.device_kind}"
    if device is None:
        problem = answer.problem.detail if answer.problem is not None else "no device answered"
        return _check("devices", f"{planned} planned, none found: {problem}", _WRONG_MACHINE)
    found = f"{device.num_devices} x {device.kind}"
    if target.name == LOCAL:
        return _check("devices", f"{found}, any device is accepted")
    known = target_of_device_kind(device.kind)
    is_kind = known is not None and known.device_kind == target.device_kind
    if not is_kind or device.num_devices < target.num_devices:
        return _check("devices", f"{planned} planned, {found} found", _WRONG_MACHINE)
    return _check("devices", f"{found}, as planned")


def memory_check(plan: Plan) -> PreflightCheck:
    """Whether a step fits the memory of the available devices."""
    used, limit = plan.per_device_bytes / GIB, plan.limit_bytes / GIB
    advice = None if plan.fits else advice_of(plan).strip() or "Use a smaller model or a larger machine."
    detail = f"{used:.2f} of {limit:.2f} GiB per device, {plan.source}"
    return _check("memory", detail, advice)


def session_check(plan: Plan, session_s: float, num_sessions: int) -> PreflightCheck:
    """Whether the training takes no more sessions than planned."""
    if plan.total_seconds is None:
        return _check("session", "its duration is unknown; it stops in time and can be resumed")
    hours = plan.total_seconds / 3600
    detail = f"about {hours:.2f} h of training, {training_seconds(session_s) / 3600:.2f} h per session"
    needed = sessions_needed(plan, session_s)
    if needed <= num_sessions:
        return _check("session", detail)
    return _check(
        "session",
        f"{detail}: {needed} sessions, {num_sessions} planned",
        f"Add --sessions {needed} if that is intended, or train fewer steps or a smaller model.",
    )


def _check(name: CheckName, detail: str, next_step: str | None = None) -> PreflightCheck:
    """A check that failed if there is a next step."""
    return PreflightCheck(name=name, passed=next_step is None, detail=detail, next_step=next_step)
