"""Changes of a recipe that make it fit, cheapest first.

Every candidate is a real recipe: it is validated and estimated like any other. Single changes come first;
two or three are combined only where one is not enough.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pydantic import JsonValue, ValidationError

from tunix_rt.config.recipe import Recipe
from tunix_rt.core.errors import InvalidInputError
from tunix_rt.core.plan import PlanFix
from tunix_rt.core.targets import Target
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.planning.components import estimate_components
from tunix_rt.engines.planning.step_shape import step_shape
from tunix_rt.engines.planning.timing import step_seconds
from tunix_rt.engines.planning.workload import Workload

MAX_FIXES = 6
_MAX_COMBINED = 4
_ROW_STEP = 128

Values = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Candidate:
    """Keys to set and what that does to the training."""

    values: Values
    cost: str
    harm: int
    """0: the same training. The higher, the more another training it is."""


@dataclass(frozen=True)
class FixedRecipe:
    """A changed recipe with its figures."""

    recipe: Recipe
    fix: PlanFix
    harm: int


def find_fixes(
    recipe: Recipe, architecture: Architecture, target: Target, workload: Workload
) -> list[FixedRecipe]:
    """The cheapest changes after which the recipe is estimated to fit: least harm, then least time."""
    candidates = list(_candidates(recipe, target, workload))
    found: list[tuple[frozenset[str], FixedRecipe]] = []
    for count in range(1, _MAX_COMBINED + 1):
        for chosen in combinations(candidates, count):
            keys = frozenset(key for candidate in chosen for key in candidate.values)
            if any(smaller <= keys for smaller, _ in found):
                continue  # a part of it is enough
            fixed = _fixed(recipe, architecture, target, chosen)
            if fixed is not None and fixed.fix.per_device_bytes <= target.memory_bytes:
                found.append((keys, fixed))
        if len(found) >= 3:
            break
    ranked = sorted((fixed for _, fixed in found), key=lambda fixed: (fixed.harm, fixed.fix.step_seconds))
    return ranked[:MAX_FIXES]


def _fixed(
    recipe: Recipe, architecture: Architecture, target: Target, chosen: tuple[Candidate, ...]
) -> FixedRecipe | None:
    values: dict[str, JsonValue] = {}
    for candidate in chosen:
        if values.keys() & candidate.values.keys():
            return None
        values |= candidate.values
    try:
        changed = changed_recipe(recipe, values)
        step = step_shape(changed, architecture, target)
        components = estimate_components(step)
    except (ValidationError, InvalidInputError):
        return None  # this change is not possible for this recipe or target
    fix = PlanFix(
        change=" ".join(f"--set {key}={_as_yaml(value)}" for key, value in values.items()),
        cost="; ".join(candidate.cost for candidate in chosen),
        per_device_bytes=sum(components.values()),
        step_seconds=step_seconds(step, target),
        source="estimated",
    )
    return FixedRecipe(changed, fix, harm=max(candidate.harm for candidate in chosen))


def changed_recipe(recipe: Recipe, values: Values) -> Recipe:
    """The recipe with these dotted keys set, validated anew."""
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


def _candidates(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    for candidates_of in _KINDS:
        yield from candidates_of(recipe, target, workload)


def _donation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    if not recipe.training.donate_buffers:
        yield Candidate({"training.donate_buffers": True}, "the same training, at no cost", harm=0)


def _all_devices(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    if target.num_devices == 1 or "auto" in recipe.sharding.model_dump().values():
        return
    use_all: dict[str, JsonValue] = {"sharding.fsdp": "auto"}
    rows = recipe.training.batch_size // recipe.training.gradient_accumulation_steps
    if rows % target.num_devices == 0:
        yield Candidate(use_all, f"the same training on {target.num_devices} devices", harm=0)
    else:
        batch = target.num_devices * recipe.training.gradient_accumulation_steps
        cost = f"{batch} rows a step instead of {recipe.training.batch_size}, on all devices"
        yield Candidate({**use_all, "training.batch_size": batch}, cost, harm=3)


def _loss_chunks(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    now = recipe.training.loss_chunk_tokens
    for chunk in (1024, 256):
        if now is None or chunk < now:
            cost = "the same training; logits of fewer tokens at one time"
            yield Candidate({"training.loss_chunk_tokens": chunk}, cost, harm=0)


def _remat(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    if recipe.training.remat != "block":
        cost = "the same training; layers are computed twice"
        yield Candidate({"training.remat": "block"}, cost, harm=0)


def _accumulation(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    parts = recipe.training.gradient_accumulation_steps
    for factor in (2, 4, 8, 16, 32):
        more = parts * factor
        if recipe.training.batch_size % more == 0:
            cost = f"the same training; each batch in {more} parts"
            yield Candidate({"training.gradient_accumulation_steps": more}, cost, harm=0)


def _row_length(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    if workload.longest_example is None:
        return
    enough = -(-workload.longest_example // _ROW_STEP) * _ROW_STEP
    if enough < recipe.data.row_length:
        cost = f"fewer tokens a step; every example still fits (longest: {workload.longest_example})"
        yield Candidate({"data.row_length": enough}, cost, harm=1)


def _precision(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    precision = recipe.training.precision
    if precision.compute != "bfloat16":
        yield Candidate({"training.precision.compute": "bfloat16"}, "activations in bfloat16", harm=1)
    if recipe.training.optimizer.name == "adamw" and precision.optimizer_state != "bfloat16":
        cost = "moments of the optimizer in bfloat16"
        yield Candidate({"training.precision.optimizer_state": "bfloat16"}, cost, harm=1)
    if precision.weights == "bfloat16":
        return
    if recipe.training.mode == "full":
        values: Values = {
            "training.precision.weights": "bfloat16",
            "training.precision.stochastic_rounding": True,
        }
        yield Candidate(values, "bfloat16 weights, rounded at random so that they still move", harm=2)
    else:
        yield Candidate({"training.precision.weights": "bfloat16"}, "frozen weights in bfloat16", harm=1)


def _optimizer(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    if recipe.training.optimizer.name != "adafactor":
        yield Candidate({"training.optimizer": "adafactor"}, "another optimizer, without moments", harm=2)


def _mode(recipe: Recipe, target: Target, workload: Workload) -> Iterator[Candidate]:
    frozen: dict[str, JsonValue] = {"training.precision.weights": "bfloat16"}
    if recipe.training.precision.stochastic_rounding:
        frozen["training.precision.stochastic_rounding"] = False
    if recipe.training.mode == "full":
        cost = "trains adapters of rank 16 on frozen bfloat16 weights"
        yield Candidate({"training.mode": "lora", **frozen}, cost, harm=4)
    if recipe.training.mode != "qlora":
        cost = "trains adapters on frozen weights of 4 bits"
        yield Candidate({"training.mode": "qlora", **frozen}, cost, harm=5)


_KINDS: tuple[Callable[[Recipe, Target, Workload], Iterator[Candidate]], ...] = (
    _donation,
    _all_devices,
    _loss_chunks,
    _remat,
    _accumulation,
    _row_length,
    _precision,
    _optimizer,
    _mode,
)
