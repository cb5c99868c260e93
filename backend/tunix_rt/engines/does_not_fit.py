"""A run that needs more memory than there is, before it starts or while it runs, with what would help."""

from collections.abc import Sequence

from tunix_rt.base.errors import DoesNotFitError
from tunix_rt.core.plan import Plan
from tunix_rt.engines.planning.fixes import find_fixes
from tunix_rt.engines.planning.planner import PlanQuestion, with_fixes
from tunix_rt.recipes.types import Recipe, TrainingSection


def with_advice(plan: Plan, question: PlanQuestion) -> Plan:
    """The plan with the cheapest changes that would make it fit, if it does not."""
    if plan.fits:
        return plan
    fixes = find_fixes(
        question.recipe, question.architecture, question.target, question.workload, question.engine
    )
    return with_fixes(plan, tuple(fixed.fix for fixed in fixes))


def require_fit(plan: Plan, *, is_forced: bool) -> None:
    """Raises DoesNotFitError when the plan says no and nobody insists."""
    if not (plan.fits or is_forced):
        raise does_not_fit(plan, plan.reason)


def does_not_fit(plan: Plan, problem: str) -> DoesNotFitError:
    """The error with the advice of the plan."""
    return DoesNotFitError(
        problem,
        next_step=f"{advice_of(plan)}plan.json has the figures by component; --force runs it all the same.",
    )


def advice_of(plan: Plan) -> str:
    """The cheapest changes as a sentence, with a space after it; nothing when none would help."""
    advice = [f"{fix.change} ({_gib(fix.per_device_bytes)}: {fix.cost})" for fix in plan.fixes[:3]]
    return f"Any of these would make it fit: {'; '.join(advice)}. " if advice else ""


def out_of_memory_error(
    plan: Plan, recipe: Recipe, error: Exception, *, saved_steps: Sequence[int]
) -> DoesNotFitError:
    """Out of memory at run time, against what was planned, with the way to go on."""
    said = str(error).splitlines()[0]
    kept = f" The newest checkpoint is of step {saved_steps[-1]}." if saved_steps else ""
    advice = does_not_fit(plan, "").next_step
    more_parts = _more_parts(recipe.training)
    if more_parts is not None:
        advice = (
            "Run it again with --resume --set training.gradient_accumulation_steps="
            f"{more_parts}: smaller parts of the same batch, and the same training. {advice}"
        )
    return DoesNotFitError(
        f"The device ran out of memory. Planned: {_gib(plan.per_device_bytes)} of "
        f"{_gib(plan.limit_bytes)} a device ({plan.source}). The device said: {said}{kept}",
        next_step=advice,
    )


def _more_parts(training: TrainingSection) -> int | None:
    """The next finer division of a batch into whole rows; None when every part is one row already.

    Example:
        12 rows in 2 parts -> 3 parts
    """
    parts = range(training.gradient_accumulation_steps + 1, training.batch_size + 1)
    return next((count for count in parts if training.batch_size % count == 0), None)


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"
