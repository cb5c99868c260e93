"""The cheapest changes that make a recipe fit, and memory errors that suggest them.

Every suggestion is validated and estimated like any other recipe. Changes are combined only where a single
one is not enough.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from pydantic import JsonValue, ValidationError

from tunix_rt.base.errors import DoesNotFitError, InvalidInputError
from tunix_rt.engines.planning.memory import estimate_components
from tunix_rt.engines.planning.planner import PlanQuestion, step_seconds, with_fixes
from tunix_rt.engines.planning.step import step_shape
from tunix_rt.engines.planning.targets import Target
from tunix_rt.engines.planning.types import Plan, PlanFix, Workload
from tunix_rt.engines.types import EngineName
from tunix_rt.engines.weights.architecture import Architecture
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


def possible_changes(recipe: Recipe, target: Target, workload: Workload) -> list[Change]:
    """Every possible change of this recipe, stronger variants after weaker ones."""
    plain = recipe.model_dump(mode="json")
    changes = [change for kind in _KINDS for change in kind(recipe, target, workload)]
    return [replace(change, values=_different(change.values, plain)) for change in changes]


def _different(values: Values, plain: dict[str, Any]) -> Values:
    """Drop keys that already have the value."""
    return {key: value for key, value in values.items() if _value_at(plain, key) != value}


def _value_at(plain: dict[str, Any], key: str) -> Any:
    value: Any = plain
    for name in key.split("."):
        value = value[name]
    return value


def changed_recipe(recipe: Recipe, values: Values) -> Recipe:
    """The recipe with these dotted keys set, validated again.

    Raises:
        ValidationError: The values conflict with the rest of the recipe.
    """
    plain = recipe.model_dump(mode="json")
    for key, value in values.items():
        section: dict[str, Any] = plain
        *path, last = key.split(".")
        for name in path:
            section = section[name]
        section[last] = value
    return Recipe.model_validate(plain)


def _as_yaml(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _donation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if not recipe.training.donate_buffers:
        yield Change("donation", {"training.donate_buffers": True}, "no cost", harm=0)


def _all_devices(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if target.num_devices == 1 or "auto" in recipe.sharding.model_dump().values():
        return
    use_all: dict[str, JsonValue] = {"sharding.fsdp": "auto"}
    rows = recipe.training.batch_size // recipe.training.gradient_accumulation_steps
    if rows % target.num_devices == 0:
        yield Change("devices", use_all, f"on {target.num_devices} devices", harm=0)
    else:
        by_tensor: Values = {"sharding.data": 1, "sharding.fsdp": 1, "sharding.tensor": "auto"}
        cost = f"{target.num_devices} devices split every matrix product"
        yield Change("tensor", by_tensor, cost, harm=0)
        batch = target.num_devices * recipe.training.gradient_accumulation_steps
        cost = f"{batch} rows per step instead of {recipe.training.batch_size}, on all devices"
        yield Change("devices", {**use_all, "training.batch_size": batch}, cost, harm=3)


def _loss_chunks(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    now = recipe.training.loss_chunk_tokens
    for chunk in (1024, 256):
        if now is None or chunk < now:
            cost = "logits of fewer tokens at a time"
            yield Change("chunks", {"training.loss_chunk_tokens": chunk}, cost, harm=0)


def _attention(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.attention == "dense" and target.platform != "cpu":
        cost = "the fused attention kernel of the device, where it can be used"
        yield Change("attention", {"training.attention": "auto"}, cost, harm=0)


def _remat(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.remat != "block":
        cost = "layers are recomputed in the backward pass"
        yield Change("remat", {"training.remat": "block"}, cost, harm=0)


def _accumulation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    parts = recipe.training.gradient_accumulation_steps
    for factor in (2, 4, 8, 16, 32):
        more = parts * factor
        if recipe.training.batch_size % more == 0:
            cost = f"each batch in {more} parts"
            yield Change("accumulation", {"training.gradient_accumulation_steps": more}, cost, harm=0)


def _row_length(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if workload.longest_example is None:
        return
    enough = -(-workload.longest_example // _ROW_STEP) * _ROW_STEP
    if enough < recipe.data.row_length:
        cost = f"fewer tokens per step; every example still fits (longest: {workload.longest_example})"
        yield Change("row length", {"data.row_length": enough}, cost, harm=1)


def _precision(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    precision = recipe.training.precision
    if precision.compute != "bfloat16":
        yield Change("compute", {"training.precision.compute": "bfloat16"}, "activations in bfloat16", harm=1)
    if recipe.training.optimizer.name == "adamw" and precision.optimizer_state != "bfloat16":
        cost = "moments of the optimizer in bfloat16"
        yield Change("moments", {"training.precision.optimizer_state": "bfloat16"}, cost, harm=1)
    if precision.weights == "bfloat16":
        return
    if recipe.training.mode == "full":
        values: Values = {
            "training.precision.weights": "bfloat16",
            "training.precision.stochastic_rounding": True,
        }
        yield Change("weights", values, "bfloat16 weights with stochastic rounding", harm=2)
    else:
        yield Change(
            "weights", {"training.precision.weights": "bfloat16"}, "frozen weights in bfloat16", harm=1
        )


def _optimizer(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    if recipe.training.optimizer.name != "adafactor":
        values: Values = {
            "training.optimizer": "adafactor",
            "training.precision.optimizer_state": "float32",
        }
        yield Change("optimizer", values, "another optimizer, without moments", harm=2)


def _mode(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Change]:
    frozen: dict[str, JsonValue] = {"training.precision.weights": "bfloat16"}
    if recipe.training.precision.stochastic_rounding:
        frozen["training.precision.stochastic_rounding"] = False
    if recipe.training.mode == "full":
        cost = "trains adapters of rank 16 on frozen bfloat16 weights"
        yield Change("lora", {"training.mode": "lora", **frozen}, cost, harm=4)
    if recipe.training.mode != "qlora":
        cost = "trains adapters on frozen 4-bit weights"
        yield Change("qlora", {"training.mode": "qlora", **frozen}, cost, harm=5)


_KINDS: tuple[Callable[[Recipe, Target, Workload], Iterator[Change]], ...] = (
    _donation,
    _all_devices,
    _loss_chunks,
    _attention,
    _remat,
    _accumulation,
    _row_length,
    _precision,
    _optimizer,
    _mode,
)

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


def find_fixes(
    recipe: Recipe,
    architecture: Architecture,
    target: Target,
    workload: Workload,
    engine: EngineName = "jax",
) -> list[FixedRecipe]:
    """The cheapest changes after which the recipe is estimated to fit."""
    search = _Search(recipe, architecture, target, engine)
    changes = possible_changes(recipe, target, workload)
    for count in range(1, _MAX_COMBINED + 1):
        search.try_all(combinations(changes, count))
        if len(search.found) >= _MIN_FIXES:
            break
    else:
        search.try_all(search.cheapened(chosen, changes) for chosen in _ladders(changes))
        search.add_roomier(changes)
    return sorted(search.found, key=lambda fixed: fixed.rank)[:MAX_FIXES]


def _ladders(changes: Sequence[Change]) -> Iterator[tuple[Change, ...]]:
    """All harmless changes in their strongest variant, with one or two harmful changes on top."""
    strongest = {change.kind: change for change in changes if change.harm == 0}
    drastic = [change for change in changes if change.harm > 0]
    for count in (1, 2):
        for added in combinations(drastic, count):
            yield (*strongest.values(), *added)


def _cost(chosen: Sequence[Change]) -> str:
    is_same = all(change.harm == 0 for change in chosen)
    return ("the same training; " if is_same else "") + "; ".join(change.cost for change in chosen)


class _Search:
    """Collects minimal combinations of changes that fit."""

    def __init__(
        self, recipe: Recipe, architecture: Architecture, target: Target, engine: EngineName
    ) -> None:
        self._recipe, self._architecture, self._target = recipe, architecture, target
        self._engine = engine
        self.found: list[FixedRecipe] = []

    def try_all(self, combined: Iterator[tuple[Change, ...]]) -> None:
        for chosen in combined:
            kinds = {change.kind for change in chosen}
            if any(smaller.kinds <= kinds for smaller in self.found):
                continue
            fixed = self._fixed(chosen)
            if fixed is not None:
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
        try:
            recipe = changed_recipe(self._recipe, values)
            step = step_shape(recipe, self._architecture, self._target, self._engine)
        except (ValidationError, InvalidInputError):
            return None  # invalid with the rest of this recipe, or on this target
        needed = sum(estimate_components(step).values())
        if needed > self._target.memory_bytes:
            return None
        fix = PlanFix(
            change=" ".join(change.flags for change in chosen),
            cost=_cost(chosen),
            per_device_bytes=needed,
            step_seconds=step_seconds(step, self._target),
            source="estimated",
        )
        return FixedRecipe(recipe, chosen, fix)


def with_advice(plan: Plan, question: PlanQuestion) -> Plan:
    """The plan with the cheapest changes that would make it fit, if it does not."""
    if plan.fits:
        return plan
    fixes = find_fixes(
        question.recipe, question.architecture, question.target, question.workload, question.engine
    )
    return with_fixes(plan, tuple(fixed.fix for fixed in fixes))


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
    advice = [f"{fix.change} ({_gib(fix.per_device_bytes)}: {fix.cost})" for fix in plan.fixes[:3]]
    return f"Any of these would make it fit: {'; '.join(advice)}. " if advice else ""


def out_of_memory_error(
    plan: Plan, recipe: Recipe, error: Exception, *, saved_steps: Sequence[int]
) -> DoesNotFitError:
    """The error of running out of memory, with the planned figures and how to resume."""
    message = str(error).splitlines()[0]
    kept = f" The newest checkpoint is of step {saved_steps[-1]}." if saved_steps else ""
    advice = insufficient_memory_error(plan, "").next_step
    more_parts = _more_parts(recipe.training)
    if more_parts is not None:
        advice = (
            "Run it again with --resume --set training.gradient_accumulation_steps="
            f"{more_parts}: smaller parts of the same batch, and the same training. {advice}"
        )
    return DoesNotFitError(
        f"The device ran out of memory. Planned: {_gib(plan.per_device_bytes)} of "
        f"{_gib(plan.limit_bytes)} per device ({plan.source}). The device reported: {message}{kept}",
        next_step=advice,
    )


def _more_parts(training: TrainingSection) -> int | None:
    """The next larger number of gradient accumulation steps; None when every part is one row.

    Example:
        12 rows in 2 parts -> 3 parts
    """
    parts = range(training.gradient_accumulation_steps + 1, training.batch_size + 1)
    return next((count for count in parts if training.batch_size % count == 0), None)


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"
