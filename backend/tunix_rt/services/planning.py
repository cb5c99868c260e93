"""The use case behind `tunix-rt plan`: an answer at once, then the compiler's."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tunix_rt.base.errors import MissingExtraError
from tunix_rt.base.settings import Settings
from tunix_rt.core.plan import Plan, PlanFix
from tunix_rt.core.targets import Target
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.models import ModelSource, resolve_model
from tunix_rt.engines.planning.cache import cached_step, keep_step
from tunix_rt.engines.planning.compile_child import compile_in_child
from tunix_rt.engines.planning.described_devices import require_compiler, topology_request
from tunix_rt.engines.planning.fixes import FixedRecipe, find_fixes
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, estimated_plan, with_fixes
from tunix_rt.engines.planning.protocol import CompiledStep, CompileRequest
from tunix_rt.engines.planning.step_shape import step_shape
from tunix_rt.recipes.types import Recipe
from tunix_rt.services.planning_workload import count_workload


@dataclass(frozen=True)
class PlanOptions:
    """How far to go."""

    is_fast: bool = False
    """Stop at the estimate."""
    verifies_fixes: bool = False
    """Compile the advice too."""
    session_seconds: float | None = None
    engine: EngineName = "jax"
    online: bool = True
    """Whether the hub may be asked for the shape of a model that is not known here."""


@dataclass(frozen=True)
class PlanProgress:
    """Told what happens while the compiler works."""

    on_estimate: Callable[[Plan], None] = lambda plan: None
    on_compiling: Callable[[str, float], None] = lambda what, elapsed_s: None


def plan_recipe(
    settings: Settings,
    recipe: Recipe,
    target: Target,
    options: PlanOptions,
    progress: PlanProgress,
) -> Plan:
    """Plan a recipe for a target.

    Raises:
        InvalidInputError: The recipe cannot be laid over the devices of the target.
    """
    model = resolve_model(recipe.model, online=options.online, needs_weights=False)
    workload = count_workload(settings, recipe, model)
    question = PlanQuestion(
        recipe, model.architecture, target, workload, options.session_seconds, options.engine
    )
    estimate = _with_advice(question, estimated_plan(question))
    if options.is_fast:
        return estimate
    unavailable = _why_not_compiled(question)
    if unavailable is not None:
        return estimate.model_copy(update={"notes": (*estimate.notes, unavailable)})
    progress.on_estimate(estimate)
    compiler = _Compiler(settings.plans_dir, model, target, progress)
    plan = compiled_plan(question, compiler.compile(recipe, "the step"))
    return _with_advice(question, plan, compiler if options.verifies_fixes else None)


def _why_not_compiled(question: PlanQuestion) -> str | None:
    """Why the estimate must do; None when this machine can compile for the target."""
    if question.engine == "torch":
        return "No compiler was asked: torch compiles nothing ahead of time."
    try:
        require_compiler(question.target)
    except MissingExtraError as error:
        return f"No compiler was asked: {error.detail} {error.next_step}"
    step = step_shape(question.recipe, question.architecture, question.target)
    if step.attention.kernel == "cudnn" and topology_request(question.target) is not None:
        return "No compiler was asked: the attention kernel of cuDNN is compiled only where the GPU is."
    return None


@dataclass(frozen=True)
class _Compiler:
    """Asks the cache, then the compiler."""

    plans_dir: Path
    model: ModelSource
    target: Target
    progress: PlanProgress

    def compile(self, recipe: Recipe, what: str) -> CompiledStep:
        request = CompileRequest(
            recipe=recipe,
            architecture_config=dict(self.model.config),
            platform=self.target.platform,
            num_devices=self.target.num_devices,
            topology=topology_request(self.target),
        )
        known = cached_step(self.plans_dir, request)
        if known is not None:
            return known
        step = compile_in_child(
            request, self.target, lambda elapsed_s: self.progress.on_compiling(what, elapsed_s)
        )
        keep_step(self.plans_dir, request, step)
        return step


def _with_advice(question: PlanQuestion, plan: Plan, verifier: _Compiler | None = None) -> Plan:
    if plan.fits:
        return plan
    found = find_fixes(
        question.recipe, question.architecture, question.target, question.workload, question.engine
    )
    fixes = [fixed.fix for fixed in found]
    if verifier is not None:
        verified = (_verified(question, fixed, verifier) for fixed in found)
        fixes = [fix for fix in verified if fix.per_device_bytes <= question.target.memory_bytes]
    return with_fixes(plan, tuple(fixes))


def _verified(question: PlanQuestion, fixed: FixedRecipe, compiler: _Compiler) -> PlanFix:
    changed = replace(question, recipe=fixed.recipe)
    if _why_not_compiled(changed) is not None:
        return fixed.fix
    plan = compiled_plan(changed, compiler.compile(fixed.recipe, fixed.fix.change))
    return fixed.fix.model_copy(update={"per_device_bytes": plan.per_device_bytes, "source": "compiled"})
