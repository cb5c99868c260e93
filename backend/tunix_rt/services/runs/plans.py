"""Plans for whoever is about to submit a run: for which hardware, whether it fits, and what would help."""

from pydantic import Field

from tunix_rt.base.records import Record
from tunix_rt.base.settings import Settings
from tunix_rt.core.runs.plan_request import PlanRequest
from tunix_rt.core.runs.preview import RunPreview
from tunix_rt.engines.planning.service import PlanOptions
from tunix_rt.engines.planning.targets import CPU, LOCAL, TARGETS, Platform, Target, find_target
from tunix_rt.services.runs.preparing import preview_of, require_data
from tunix_rt.services.runs.recipes import asked_recipe

_HERE = (LOCAL, CPU)


class PlanTarget(Record):
    """Some devices of one kind that a plan can be for."""

    name: str
    description: str
    platform: Platform
    num_devices: int
    memory_bytes: int
    """Of one device: what a program may use."""
    memory_source: str
    is_here: bool
    """This machine's own; the others need not be at hand."""
    notes: tuple[str, ...] = Field(default=())


class TargetList(Record):
    """Every target, this machine's own first."""

    data: tuple[PlanTarget, ...]


def list_targets() -> TargetList:
    """What a plan can be for."""
    here = (_plan_target(find_target(name), is_here=True) for name in _HERE)
    known = (_plan_target(target, is_here=False) for target in TARGETS.values())
    return TargetList(data=(*here, *known))


def _plan_target(target: Target, *, is_here: bool) -> PlanTarget:
    return PlanTarget(
        name=target.name,
        description=target.description,
        platform=target.platform,
        num_devices=target.num_devices,
        memory_bytes=target.memory_bytes,
        memory_source=target.memory_source,
        is_here=is_here,
        notes=target.notes,
    )


def plan_run(settings: Settings, request: PlanRequest) -> RunPreview:
    """What a request resolves to and what is predicted; nothing is queued, nothing refused for its size.

    A recipe without a dataset is planned too: its memory is known, the time that it takes is not.

    Raises:
        NotFoundError: The recipe, the dataset, a split of it or the eval set does not exist.
        InvalidInputError: The recipe says what no recipe can say, or cannot be laid over the target.
        MissingExtraError: The engine that must run it is not installed.
    """
    asked = asked_recipe(settings, request, allows_paths=False)
    if asked.resolved.recipe.data.dataset is not None:
        require_data(settings, asked.resolved.recipe, request.eval_set)
    options = PlanOptions(is_fast=not request.is_compiled, session_seconds=request.session_seconds)
    return preview_of(settings, asked, request, options)
