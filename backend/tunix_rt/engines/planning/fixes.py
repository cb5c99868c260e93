"""The cheapest changes that make a recipe fit.

Every suggestion is a real recipe: it is validated and estimated like any other. Single changes come first;
several are combined only where one is not enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from pydantic import ValidationError

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.plan import PlanFix
from tunix_rt.core.targets import Target
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.base import EngineName
from tunix_rt.engines.planning.changes import Change, changed_recipe, possible_changes
from tunix_rt.engines.planning.components import estimate_components
from tunix_rt.engines.planning.step_shape import step_shape
from tunix_rt.engines.planning.timing import step_seconds
from tunix_rt.engines.planning.workload import Workload
from tunix_rt.recipes.types import Recipe

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
    """Everything that harms nothing, in its strongest variant, with one or two drastic changes on top."""
    strongest = {change.kind: change for change in changes if change.harm == 0}
    drastic = [change for change in changes if change.harm > 0]
    for count in (1, 2):
        for added in combinations(drastic, count):
            yield (*strongest.values(), *added)


def _cost(chosen: Sequence[Change]) -> str:
    is_same = all(change.harm == 0 for change in chosen)
    return ("the same training; " if is_same else "") + "; ".join(change.cost for change in chosen)


class _Search:
    """Collects combinations that fit, of which no part and no weaker variant is enough."""

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
        """Where there are few ways, the cheapest of them with one more change, for more room."""
        cheapest = min(self.found, key=lambda fixed: fixed.rank, default=None)
        for change in changes:
            if cheapest is None or len(self.found) >= _MIN_FIXES:
                return
            more = self._fixed((*cheapest.changes, change))
            if more is not None and more.fix.per_device_bytes < cheapest.fix.per_device_bytes:
                self.found.append(more)

    def cheapened(self, chosen: tuple[Change, ...], changes: Sequence[Change]) -> tuple[Change, ...]:
        """Leave out, one after the other, what is not needed, or take the weakest variant that fits."""
        for change in chosen:
            others = tuple(other for other in chosen if other is not change)
            variants = [(*others, variant) for variant in changes if variant.kind == change.kind]
            chosen = next((fewer for fewer in (others, *variants) if self._fixed(fewer)), chosen)
        return chosen

    def _fixed(self, chosen: tuple[Change, ...]) -> FixedRecipe | None:
        """The changed recipe, if it is one and fits."""
        if not chosen:
            return None
        values = {key: value for change in chosen for key, value in change.values.items()}
        if len(values) < sum(len(change.values) for change in chosen):
            return None  # two variants of one change
        try:
            recipe = changed_recipe(self._recipe, values)
            step = step_shape(recipe, self._architecture, self._target, self._engine)
        except (ValidationError, InvalidInputError):
            return None  # not possible with the rest of this recipe, or on this target
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
