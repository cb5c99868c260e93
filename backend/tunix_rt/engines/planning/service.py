"""Plan a recipe for a target: estimate first, compiler next."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from tunix_rt.base.errors import MissingExtraError, TunixRTError
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.service import chosen_split, get_dataset, iter_rows
from tunix_rt.engines.planning.compile import (
    CompileRequest,
    cache_step,
    cached_step,
    compile_in_child,
    require_compiler,
    topology_request,
)
from tunix_rt.engines.planning.fixes import find_fixes, with_advice
from tunix_rt.engines.planning.planner import PlanQuestion, compiled_plan, estimated_plan
from tunix_rt.engines.planning.step import batch_settings, num_steps, step_shape
from tunix_rt.engines.planning.targets import Target
from tunix_rt.engines.planning.types import Plan, Workload
from tunix_rt.engines.types import EngineName
from tunix_rt.engines.weights.sources import ModelSource, resolve_model, tokenizer_source
from tunix_rt.recipes.types import Recipe
from tunix_rt.tokenization.chat_template import choose_template
from tunix_rt.tokenization.encoding import TraceEncoder
from tunix_rt.tokenization.packing import Batches
from tunix_rt.tokenization.tokenizer import load_tokenizer

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
    if key is None and recipe.training.num_steps is not None:
        return Workload(recipe.training.num_steps)
    if key is None:
        return Workload(assumptions=("No dataset is given (--dataset), so the total time is unknown.",))
    statistics = chosen_split(get_dataset(settings.datasets_dir, key), recipe.data.split).statistics
    try:
        tokenizer = load_tokenizer(tokenizer_source(recipe.model, model, online=False), online=False)
    except TunixRTError:
        mean_chars = statistics.chars.mean if statistics.chars else 0.0
        basis = (
            f"{_CHARS_PER_TOKEN} characters per token and {_TOKENS_AROUND} tokens of markup and template, "
            "as the tokenizer is not on this machine"
        )
        mean_tokens = mean_chars / _CHARS_PER_TOKEN + _TOKENS_AROUND
        return _extrapolated(recipe, statistics.num_rows, mean_tokens, basis)
    encoder = TraceEncoder(
        tokenizer, choose_template(tokenizer, recipe.data.chat_template), recipe.data.markup
    )
    traces = (row.trace() for row in iter_rows(settings.datasets_dir, key, recipe.data.split))
    examples = list(encoder.encode(islice(traces, MAX_ENCODED)))
    if statistics.num_rows > len(examples):
        mean_tokens = sum(map(len, examples)) / len(examples)
        return _extrapolated(recipe, statistics.num_rows, mean_tokens, f"the first {MAX_ENCODED:,} examples")
    batches = Batches(examples, batch_settings(recipe), pad_id=tokenizer.pad_id)
    counted = (
        f"{batches.num_examples:,} examples fill {batches.num_batches_per_epoch:,} batches per epoch, "
        f"{batches.fill_ratio:.0%} full."
    )
    steps = num_steps(recipe, batches.num_batches_per_epoch)
    return Workload(steps, max(map(len, examples)), (counted,))


def _extrapolated(recipe: Recipe, num_examples: int, mean_tokens: float, basis: str) -> Workload:
    rows = num_examples
    if recipe.data.packing:
        rows = math.ceil(num_examples * mean_tokens / (recipe.data.row_length * _ASSUMED_FILL))
    batches = math.ceil(rows / recipe.training.batch_size)
    assumption = f"{num_examples:,} examples of {mean_tokens:.0f} tokens on average, from {basis}."
    return Workload(num_steps(recipe, batches), assumptions=(assumption,))


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
    estimate = with_advice(estimated_plan(question), question)
    if options.is_fast:
        return estimate
    unavailable = _why_not_compiled(question)
    if unavailable is not None:
        return estimate.model_copy(update={"notes": (*estimate.notes, unavailable)})
    progress.on_estimate(estimate)

    def compiled(recipe: Recipe, what: str) -> Plan:
        request = CompileRequest(
            recipe=recipe,
            architecture_config=dict(model.config),
            platform=target.platform,
            num_devices=target.num_devices,
            topology=topology_request(target),
        )
        step = cached_step(settings.plans_dir, request)
        if step is None:
            step = compile_in_child(request, target, partial(progress.on_compiling, what))
            cache_step(settings.plans_dir, request, step)
        return compiled_plan(replace(question, recipe=recipe), step)

    plan = compiled(recipe, "the step")
    if plan.fits or not options.verifies_fixes:
        return with_advice(plan, question)
    fixes = []
    for fixed in find_fixes(question):
        fix = fixed.fix
        if _why_not_compiled(replace(question, recipe=fixed.recipe)) is None:
            num_bytes = compiled(fixed.recipe, fix.change).per_device_bytes
            fix = fix.model_copy(update={"per_device_bytes": num_bytes, "source": "compiled"})
        if fix.per_device_bytes <= target.memory_bytes:
            fixes.append(fix)
    return plan.model_copy(update={"fixes": tuple(fixes)})


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
