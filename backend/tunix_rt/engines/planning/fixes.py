"""The cheapest changes that make a recipe fit, and memory errors that suggest them.

Every suggestion is validated and estimated like any other recipe. Changes are combined only where a single
one is not enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations
from operator import getitem

from pydantic import JsonValue, ValidationError

from tunix_rt.base.errors import DoesNotFitError, InvalidInputError
from tunix_rt.engines.planning.memory import estimate_components
from tunix_rt.engines.planning.planner import PlanQuestion, gib, step_seconds
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import Target
from tunix_rt.engines.planning.types import Plan, PlanFix, Workload
from tunix_rt.recipes.types import Recipe, TrainingSection

Values = Mapping[str, JsonValue]

_ROW_STEP = 128


@dataclass(frozen=True, eq=False)
class Change:
    """Recipe keys to set, and their effect on the training."""

    kind: str
    """Variants of one change have the same kind; a recipe gets at most one of them."""
    values: Values
    cost: str
    harm: int
    """0: the same training. The higher, the more the training differs."""

    @property
    def flags(self) -> str:
        """As command-line options: `--set training.remat=block`."""
        return " ".join(f"--set {key}={_as_yaml(value)}" for key, value in self.values.items())


def _as_yaml(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def possible_changes(recipe: Recipe, target: Target, workload: Workload) -> list[Change]:
    """Every possible change of this recipe, stronger variants after weaker ones."""
    plain = recipe.model_dump(mode="json")
    changes = [*_memory_changes(recipe, target), *_numeric_changes(recipe, workload)]

    def is_new(key: str, value: JsonValue) -> bool:
        return bool(reduce(getitem, key.split("."), plain) != value)

    return [
        replace(change, values={key: value for key, value in change.values.items() if is_new(key, value)})
        for change in changes
    ]


def changed_recipe(recipe: Recipe, values: Values) -> Recipe:
    """The recipe with these dotted keys set, validated again.

    Raises:
        ValidationError: The values conflict with the rest of the recipe.
    """
    plain = recipe.model_dump(mode="json")
    for key, value in values.items():
        *path, last = key.split(".")
        reduce(getitem, path, plain)[last] = value
    return Recipe.model_validate(plain)


def _memory_changes(recipe: Recipe, target: Target) -> Iterator[Change]:
    """Changes of how a batch is computed. All but a larger batch keep the training the same."""
    training = recipe.training
    if not training.donate_buffers:
        yield Change("donation", {"training.donate_buffers": True}, "no cost", harm=0)
    if target.num_devices > 1 and "auto" not in recipe.sharding.model_dump().values():
        yield from _all_devices(training, target.num_devices)
    for chunk in (1024, 256):
        if training.loss_chunk_tokens is None or chunk < training.loss_chunk_tokens:
            cost = "logits of fewer tokens at a time"
            yield Change("chunks", {"training.loss_chunk_tokens": chunk}, cost, harm=0)
    if training.attention == "dense" and target.platform != "cpu":
        cost = "the fused attention kernel of the device, where it can be used"
        yield Change("attention", {"training.attention": "auto"}, cost, harm=0)
    if training.remat != "block":
        cost = "layers are recomputed in the backward pass"
        yield Change("remat", {"training.remat": "block"}, cost, harm=0)
    for factor in (2, 4, 8, 16, 32):
        parts = training.gradient_accumulation_steps * factor
        if training.batch_size % parts == 0:
            cost = f"each batch in {parts} parts"
            yield Change("accumulation", {"training.gradient_accumulation_steps": parts}, cost, harm=0)


def _all_devices(training: TrainingSection, num_devices: int) -> Iterator[Change]:
    use_all: dict[str, JsonValue] = {"sharding.fsdp": "auto"}
    rows = training.batch_size // training.gradient_accumulation_steps
    if rows % num_devices == 0:
        yield Change("devices", use_all, f"on {num_devices} devices", harm=0)
        return
    by_tensor: Values = {"sharding.data": 1, "sharding.fsdp": 1, "sharding.tensor": "auto"}
    yield Change("tensor", by_tensor, f"{num_devices} devices split every matrix product", harm=0)
    batch = num_devices * training.gradient_accumulation_steps
    cost = f"{batch} rows per step instead of {training.batch_size}, on all devices"
    yield Change("devices", {**use_all, "training.batch_size": batch}, cost, harm=3)


def _numeric_changes(recipe: Recipe, workload: Workload) -> Iterator[Change]:
    """Changes of the rows, the formats, the optimizer and the trained weights."""
    training, precision, longest = recipe.training, recipe.training.precision, workload.longest_example
    if longest is not None and (enough := -(-longest // _ROW_STEP) * _ROW_STEP) < recipe.data.row_length:
        cost = f"fewer tokens per step; every example still fits (longest: {longest})"
        yield Change("row length", {"data.row_length": enough}, cost, harm=1)
    if precision.compute != "bfloat16":
        yield Change("compute", {"training.precision.compute": "bfloat16"}, "activations in bfloat16", harm=1)
    if training.optimizer.name == "adamw" and precision.optimizer_state != "bfloat16":
        cost = "moments of the optimizer in bfloat16"
        yield Change("moments", {"training.precision.optimizer_state": "bfloat16"}, cost, harm=1)
    weights: Values = {"training.precision.weights": "bfloat16"}
    rounding = "training.precision.stochastic_rounding"
    if precision.weights != "bfloat16" and training.mode == "full":
        cost = "bfloat16 weights with stochastic rounding"
        yield Change("weights", {**weights, rounding: True}, cost, harm=2)
    elif precision.weights != "bfloat16":
        yield Change("weights", weights, "frozen weights in bfloat16", harm=1)
    if training.optimizer.name != "adafactor":
        values: Values = {
            "training.optimizer": "adafactor",
            "training.precision.optimizer_state": "float32",
        }
        yield Change("optimizer", values, "another optimizer, without moments", harm=2)
    frozen = {**weights, rounding: False} if precision.stochastic_rounding else weights
    if training.mode == "full":
        cost = "trains adapters of rank 16 on frozen bfloat16 weights"
        yield Change("lora", {"training.mode": "lora", **frozen}, cost, harm=4)
    if training.mode != "qlora":
        cost = "trains adapters on frozen 4-bit weights"
        yield Change("qlora", {"training.mode": "qlora", **frozen}, cost, harm=5)


MAX_FIXES = 6
_MIN_FIXES = 3
_MAX_COMBINED = 3


@dataclass(frozen=True)
class FixedRecipe:
    """A changed recipe that fits, with its figures."""

    recipe: Recipe
    changes: tuple[Change, ...]
    fix: PlanFix

    @property
    def kinds(self) -> set[str]:
        """What was changed."""
        return {change.kind for change in self.changes}

    @property
    def rank(self) -> tuple[int, float]:
        """Least harm first, then least time."""
        return max(change.harm for change in self.changes), self.fix.step_seconds


def find_fixes(question: PlanQuestion) -> list[FixedRecipe]:
    """The cheapest changes after which the recipe is estimated to fit."""
    search = _Search(question)
    changes = possible_changes(question.recipe, question.target, question.workload)
    for count in range(1, _MAX_COMBINED + 1):
        search.try_all(combinations(changes, count))
        if len(search.found) >= _MIN_FIXES:
            break
    else:
        # All harmless changes in their strongest variant, with one or two harmful changes on top.
        strongest = {change.kind: change for change in changes if change.harm == 0}.values()
        harmful = [change for change in changes if change.harm > 0]
        added = chain(combinations(harmful, 1), combinations(harmful, 2))
        search.try_all(search.cheapened((*strongest, *more), changes) for more in added)
        search.add_roomier(changes)
    return sorted(search.found, key=lambda fixed: fixed.rank)[:MAX_FIXES]


class _Search:
    """Collects minimal combinations of changes that fit."""

    def __init__(self, question: PlanQuestion) -> None:
        self._question = question
        self.found: list[FixedRecipe] = []

    def try_all(self, combined: Iterable[tuple[Change, ...]]) -> None:
        for chosen in combined:
            kinds = {change.kind for change in chosen}
            if any(smaller.kinds <= kinds for smaller in self.found):
                continue
            if (fixed := self._fixed(chosen)) is not None:
                self.found.append(fixed)

    def add_roomier(self, changes: Sequence[Change]) -> None:
        """If few fixes were found, add the cheapest one with one more change that saves memory."""
        cheapest = min(self.found, key=lambda fixed: fixed.rank, default=None)
        for change in changes:
            if cheapest is None or len(self.found) >= _MIN_FIXES:
                return
            more = self._fixed((*cheapest.changes, change))
            if more is not None and more.fix.per_device_bytes < cheapest.fix.per_device_bytes:
                self.found.append(more)

    def cheapened(self, chosen: tuple[Change, ...], changes: Sequence[Change]) -> tuple[Change, ...]:
        """Drop unneeded changes one by one, or replace them by the weakest variant that fits."""
        for change in chosen:
            others = tuple(other for other in chosen if other is not change)
            variants = [(*others, variant) for variant in changes if variant.kind == change.kind]
            chosen = next((fewer for fewer in (others, *variants) if self._fixed(fewer)), chosen)
        return chosen

    def _fixed(self, chosen: tuple[Change, ...]) -> FixedRecipe | None:
        """The changed recipe, if it is valid and fits."""
        if not chosen:
            return None
        values = {key: value for change in chosen for key, value in change.values.items()}
        if len(values) < sum(len(change.values) for change in chosen):
            return None  # two variants of one change
        question, target = self._question, self._question.target
        try:
            recipe = changed_recipe(question.recipe, values)
            step = step_shape(recipe, question.architecture, target, question.engine)
        except (ValidationError, InvalidInputError):
            return None  # invalid with the rest of this recipe, or on this target
        needed = sum(estimate_components(step).values())
        if needed > target.memory_bytes:
            return None
        is_same = all(change.harm == 0 for change in chosen)
        fix = PlanFix(
            change=" ".join(change.flags for change in chosen),
            cost=("the same training; " if is_same else "") + "; ".join(change.cost for change in chosen),
            per_device_bytes=needed,
            step_seconds=step_seconds(step, target),
            source="estimated",
        )
        return FixedRecipe(recipe, chosen, fix)


def with_advice(plan: Plan, question: PlanQuestion) -> Plan:
    """The plan with the cheapest changes that would make it fit, if it does not."""
    if plan.fits:
        return plan
    return plan.model_copy(update={"fixes": tuple(fixed.fix for fixed in find_fixes(question))})


def require_fit(plan: Plan, *, is_forced: bool) -> None:
    """Raise DoesNotFitError when the plan does not fit and is not forced."""
    if not (plan.fits or is_forced):
        raise insufficient_memory_error(plan, plan.reason)


def insufficient_memory_error(plan: Plan, problem: str) -> DoesNotFitError:
    """The error, with the fixes of the plan as the next step."""
    return DoesNotFitError(
        problem,
        next_step=f"{advice_of(plan)}plan.json has the figures by component; --force runs it anyway.",
    )


def advice_of(plan: Plan) -> str:
    """The cheapest changes as a sentence with a trailing space; empty when none would help."""
    advice = [f"{fix.change} ({gib(fix.per_device_bytes)}: {fix.cost})" for fix in plan.fixes[:3]]
    return f"Any of these would make it fit: {'; '.join(advice)}. " if advice else ""


def out_of_memory_error(
    plan: Plan, recipe: Recipe, error: Exception, *, saved_steps: Sequence[int]
) -> DoesNotFitError:
    """The error of running out of memory, with the planned figures and how to resume."""
    message = str(error).splitlines()[0]
    kept = f" The newest checkpoint is of step {saved_steps[-1]}." if saved_steps else ""
    advice = insufficient_memory_error(plan, "").next_step
    training = recipe.training
    parts = range(training.gradient_accumulation_steps + 1, training.batch_size + 1)
    more_parts = next((count for count in parts if training.batch_size % count == 0), None)
    if more_parts is not None:
        advice = (
            "Run it again with --resume --set training.gradient_accumulation_steps="
            f"{more_parts}: smaller parts of the same batch, and the same training. {advice}"
        )
    return DoesNotFitError(
        f"The device ran out of memory. Planned: {gib(plan.per_device_bytes)} of "
        f"{gib(plan.limit_bytes)} per device ({plan.source}). The device reported: {message}{kept}",
        next_step=advice,
    )
