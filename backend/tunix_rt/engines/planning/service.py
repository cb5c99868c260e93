"""Plan a recipe for a target: estimate first, compiler next."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from tunix_rt.base.errors import MissingExtraError, TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import chosen_split, get_dataset, iter_rows
from tunix_rt.engines.planning.compile import (
    CompiledStep,
    CompileRequest,
    cache_step,
    cached_step,
    compile_in_child,
    require_compiler,
    topology_request,
)
from tunix_rt.engines.planning.fixes import FixedRecipe, find_fixes
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, estimated_plan, with_fixes
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import Target
from tunix_rt.engines.planning.types import Plan, PlanFix, Workload
from tunix_rt.engines.types import EngineName
from tunix_rt.engines.weights.sources import ModelSource, resolve_model, tokenizer_source
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import EncodedExample, TraceEncoder
from tunix_rt.tokenization.packing import Batches, BatchSettings
from tunix_rt.tokenization.tokenizer import Tokenizer, load_tokenizer

MAX_ENCODED = 1_000
"""Examples that are tokenised for a plan; a larger split is extrapolated from them."""
# dev-reasoning-v2 has 200 characters a trace and 113 to 138 tokens in the tokenizers of Gemma, Llama, SmolLM2
# and Qwen3: digits are single tokens, and the markup is cut into several.
_CHARS_PER_TOKEN = 2.4
_TOKENS_AROUND = 40
_ASSUMED_FILL = 0.95


def count_workload(settings: Settings, recipe: Recipe, model: ModelSource) -> Workload:
    """The steps of the run, counted or estimated, with the assumptions made.

    Nothing is downloaded: a tokenizer that is not on this machine is replaced by a stated assumption.

    Raises:
        NotFoundError: The recipe names a dataset or a split that does not exist.
    """
    key = recipe.data.dataset
    if key is None:
        return _without_dataset(recipe)
    statistics = chosen_split(get_dataset(settings.datasets_dir, key), recipe.data.split).statistics
    tokenizer = _local_tokenizer(recipe, model)
    if tokenizer is None:
        mean_chars = statistics.chars.mean if statistics.chars else 0.0
        return _from_characters(recipe, statistics.num_rows, mean_chars)
    encoder = TraceEncoder(
        tokenizer, choose_template(tokenizer, recipe.data.chat_template), recipe.data.markup
    )
    traces = (row.trace() for row in iter_rows(settings.datasets_dir, key, recipe.data.split))
    examples = list(encoder.encode(islice(traces, MAX_ENCODED)))
    if statistics.num_rows > len(examples):
        mean_tokens = sum(map(len, examples)) / len(examples)
        return _extrapolated(recipe, statistics.num_rows, mean_tokens, f"the first {MAX_ENCODED:,} examples")
    return _counted(recipe, examples, pad_id=tokenizer.pad_id)


def _without_dataset(recipe: Recipe) -> Workload:
    if recipe.training.num_steps is not None:
        return Workload(recipe.training.num_steps)
    return Workload(assumptions=("No dataset is given (--dataset), so the total time is unknown.",))


def _local_tokenizer(recipe: Recipe, model: ModelSource) -> Tokenizer | None:
    try:
        return load_tokenizer(tokenizer_source(recipe.model, model, online=False), online=False)
    except TunixRTError:
        return None  # the caller states the assumption used instead


def _from_characters(recipe: Recipe, num_examples: int, mean_chars: float) -> Workload:
    basis = (
        f"{_CHARS_PER_TOKEN} characters per token and {_TOKENS_AROUND} tokens of markup and template, "
        "as the tokenizer is not on this machine"
    )
    return _extrapolated(recipe, num_examples, mean_chars / _CHARS_PER_TOKEN + _TOKENS_AROUND, basis)


def _extrapolated(recipe: Recipe, num_examples: int, mean_tokens: float, basis: str) -> Workload:
    rows = num_examples
    if recipe.data.packing:
        rows = math.ceil(num_examples * mean_tokens / (recipe.data.row_length * _ASSUMED_FILL))
    batches = math.ceil(rows / recipe.training.batch_size)
    assumption = f"{num_examples:,} examples of {mean_tokens:.0f} tokens on average, from {basis}."
    return Workload(_num_steps(recipe, batches), assumptions=(assumption,))


def _counted(recipe: Recipe, examples: Sequence[EncodedExample], *, pad_id: int) -> Workload:
    settings = BatchSettings(
        row_length=recipe.data.row_length,
        rows_per_batch=recipe.training.batch_size,
        packed=recipe.data.packing,
        seed=recipe.training.seed,
        overlong=recipe.data.overlong,
    )
    batches = Batches(examples, settings, pad_id=pad_id)
    longest = max(map(len, examples))
    counted = (
        f"{batches.num_examples:,} examples fill {batches.num_batches_per_epoch:,} batches per epoch, "
        f"{batches.fill_ratio:.0%} full."
    )
    return Workload(_num_steps(recipe, batches.num_batches_per_epoch), longest, (counted,))


def _num_steps(recipe: Recipe, batches_per_epoch: int) -> int:
    if recipe.training.num_steps is not None:
        return recipe.training.num_steps
    assert recipe.training.num_epochs is not None  # the recipe has one of the two
    return max(1, math.ceil(recipe.training.num_epochs * batches_per_epoch))


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan."""

    is_fast: bool = False
    """Estimate only."""
    verifies_fixes: bool = False
    """Compile the fixes too."""
    session_seconds: float | None = None
    engine: EngineName = "jax"
    online: bool = True
    """Whether the hub may be queried for the config of an unknown model."""


@dataclass(frozen=True)
class PlanProgress:
    """Callbacks while the compiler runs."""

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
        InvalidInputError: The recipe cannot be split over the devices of the target.
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
    """Why the step is not compiled; None when this machine can compile for the target."""
    if question.engine == "torch":
        return "Not compiled: torch compiles nothing ahead of time."
    try:
        require_compiler(question.target)
    except MissingExtraError as error:
        return f"Not compiled: {error.detail} {error.next_step}"
    step = step_shape(question.recipe, question.architecture, question.target)
    if step.attention.kernel == "cudnn" and topology_request(question.target) is not None:
        return "Not compiled: the attention kernel of cuDNN compiles only on a machine with the GPU."
    return None


@dataclass(frozen=True)
class _Compiler:
    """Compiles steps through the cache."""

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
        cached = cached_step(self.plans_dir, request)
        if cached is not None:
            return cached
        step = compile_in_child(
            request, self.target, lambda elapsed_s: self.progress.on_compiling(what, elapsed_s)
        )
        cache_step(self.plans_dir, request, step)
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
