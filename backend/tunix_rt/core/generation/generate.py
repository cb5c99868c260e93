"""Seeded traces from the worked generators, every prompt once."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.core.generation.algebra import ALGEBRA
from tunix_rt.core.generation.arithmetic import ARITHMETIC
from tunix_rt.core.generation.data_and_chance import DATA_AND_CHANCE
from tunix_rt.core.generation.dice import Dice, derived_seed
from tunix_rt.core.generation.family import Family, worked_trace
from tunix_rt.core.generation.fraction_work import FRACTIONS
from tunix_rt.core.generation.geometry import GEOMETRY
from tunix_rt.core.generation.golden_style import GOLDEN_STYLE
from tunix_rt.core.generation.logic import LOGIC
from tunix_rt.core.generation.measures import MEASURES
from tunix_rt.core.generation.money_work import MONEY
from tunix_rt.core.generation.number_theory import NUMBER_THEORY
from tunix_rt.core.generation.number_writing import NUMBER_WRITING
from tunix_rt.core.generation.proportions import PROPORTIONS
from tunix_rt.core.generation.rates import RATES
from tunix_rt.core.generation.sequences import SEQUENCES
from tunix_rt.core.generation.text_work import TEXT_WORK
from tunix_rt.core.generation.word_problems import WORD_PROBLEMS
from tunix_rt.traces.types import Trace, normalised_prompt

_ALL = (
    ARITHMETIC, NUMBER_THEORY, FRACTIONS, MONEY, PROPORTIONS, RATES, MEASURES, GEOMETRY, ALGEBRA, SEQUENCES,
    DATA_AND_CHANCE, WORD_PROBLEMS, LOGIC, TEXT_WORK, NUMBER_WRITING, GOLDEN_STYLE,
)  # fmt: skip
FAMILIES: dict[str, Family] = {family.name: family for group in _ALL for family in group}

DEFAULT_SOURCE = "tunix-rt-generated"
_MAX_ATTEMPTS = 200


def generate(
    families: Sequence[str] | None, count: int, seed: int, *, source: str = DEFAULT_SOURCE
) -> Iterator[Trace]:
    """That many traces with distinct prompts, the families taking turns.

    The same arguments give the same traces on every machine. A family that has no new prompt left drops
    out; when none is left, InvalidInputError says how many traces there can be.

    Args:
        families: names out of FAMILIES, or None for all of them.
        count: how many traces.
        seed: any whole number.
        source: what `meta.source` says.
    """
    if count < 1:
        raise InvalidInputError(f"Cannot generate {count} traces.", next_step="Ask for at least 1.")
    chosen = list(FAMILIES) if families is None else families
    return _taking_turns([known_family(name) for name in chosen], count, seed, source)


def known_family(name: str) -> Family:
    """The family of that name; an unknown one is an error with the closest names."""
    if name in FAMILIES:
        return FAMILIES[name]
    close = get_close_matches(name, FAMILIES, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Choose from: {', '.join(FAMILIES)}."
    raise InvalidInputError(f"There is no generator named {name!r}.", next_step=hint)


def _taking_turns(families: list[Family], count: int, seed: int, source: str) -> Iterator[Trace]:
    seen: set[str] = set()
    turns = list(dict.fromkeys(families))
    while len(seen) < count:
        if not turns:
            raise InvalidInputError(
                f"The chosen generators have only {len(seen)} distinct prompts, not {count}.",
                next_step="Ask for fewer traces, or choose more generators.",
            )
        family = turns.pop(0)
        trace = _new_trace(family, seed, len(seen), source, seen)
        if trace is not None:
            turns.append(family)
            seen.add(normalised_prompt(trace.prompt))
            yield trace


def _new_trace(family: Family, seed: int, index: int, source: str, seen: set[str]) -> Trace | None:
    for attempt in range(_MAX_ATTEMPTS):
        worked = family.make(Dice(derived_seed(seed, family.name, index, attempt)))
        if normalised_prompt(worked.prompt) not in seen:
            return worked_trace(worked, _meta(family, seed, index, source))
    return None


def _meta(family: Family, seed: int, index: int, source: str) -> dict[str, Any]:
    return {
        "source": source,
        "category": family.category,
        "topic": family.topic,
        "generator": family.name,
        "seed": seed,
        "index": index,
    }
