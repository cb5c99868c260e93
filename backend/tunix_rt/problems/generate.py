"""Draw traces from named families or reasoning-gym tasks, each prompt once."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.problems.families.algebra import ALGEBRA, PROPORTIONS
from tunix_rt.problems.families.arithmetic import ARITHMETIC, NUMBER_WRITING
from tunix_rt.problems.families.chance import DATA_AND_CHANCE, FRACTIONS
from tunix_rt.problems.families.geometry import GEOMETRY, MEASURES
from tunix_rt.problems.families.logic import LOGIC
from tunix_rt.problems.families.money import MONEY, RATES
from tunix_rt.problems.families.number_theory import NUMBER_THEORY, SEQUENCES
from tunix_rt.problems.families.stories import WORD_PROBLEMS
from tunix_rt.problems.families.text import GOLDEN_STYLE, TEXT_WORK
from tunix_rt.problems.family import Dice, Family, Worked, derived_seed, worked_trace
from tunix_rt.problems.gym import GYM_STEPS, gym_traces
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


__all__ = ["DEFAULT_SOURCE", "FAMILIES", "Family", "Worked", "generate", "known_family"]

GYM_PREFIX = "gym:"


class GeneratorInfo(BaseModel):
    """What `traces generate --list` shows of a task."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    topic: str
    category: str
    extra: str = ""
    """The optional extra that the task needs; empty when it needs none."""


def list_generators() -> list[GeneratorInfo]:
    """All tasks that can be generated; needs no optional extra."""
    own = [GeneratorInfo(name=f.name, topic=f.topic, category=f.category) for f in FAMILIES.values()]
    gym = [
        GeneratorInfo(name=f"{GYM_PREFIX}{name}", topic="reasoning_gym", category="reasoning", extra="gym")
        for name in sorted(GYM_STEPS)
    ]
    return own + gym


def generate_traces(tasks: Sequence[str] | None, count: int, seed: int) -> Iterator[Trace]:
    """That many traces, shared evenly between the tasks; the same arguments give the same traces.

    Args:
        tasks: names of our generators and `gym:NAME` of reasoning-gym tasks, or None for all of ours.
        count: how many traces in all.
        seed: any whole number.

    Example:
        generate_traces(["column_addition", "gym:gsm_symbolic"], 10, seed=1) -> 5 of each
    """
    own = None if not tasks else [task for task in tasks if not task.startswith(GYM_PREFIX)]
    gym = [
        task.removeprefix(GYM_PREFIX) for task in dict.fromkeys(tasks or ()) if task.startswith(GYM_PREFIX)
    ]
    if own is None or not gym:
        yield from generate(own, count, seed)
        return
    if count < 1:
        raise InvalidInputError(f"Cannot generate {count} traces.", next_step="Ask for at least 1.")
    num_tasks = len(set(own)) + len(gym)
    per_gym_task = [count // num_tasks + (position < count % num_tasks) for position in range(len(gym))]
    num_own = count - sum(per_gym_task)
    if own and num_own:
        yield from generate(own, num_own, seed)
    for name, num_traces in zip(gym, per_gym_task, strict=True):
        if num_traces:
            yield from gym_traces(name, num_traces, seed)
