"""Generate traces from named families or reasoning-gym tasks, with distinct prompts."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.base.records import Frozen
from tunix_rt.problems.families.algebra import ALGEBRA, PROPORTIONS
from tunix_rt.problems.families.arithmetic import ARITHMETIC, NUMBER_WRITING
from tunix_rt.problems.families.chance import DATA_AND_CHANCE, FRACTIONS
from tunix_rt.problems.families.geometry import GEOMETRY, MEASURES
from tunix_rt.problems.families.logic import LOGIC
from tunix_rt.problems.families.money import MONEY, RATES
from tunix_rt.problems.families.number_theory import NUMBER_THEORY, SEQUENCES
from tunix_rt.problems.families.stories import WORD_PROBLEMS
from tunix_rt.problems.families.text import GOLDEN_STYLE, TEXT_WORK
from tunix_rt.problems.family import Family, SeededRandom, derived_seed, problem_trace
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
    """Generate `count` traces with distinct prompts, one family after the other in rotation.

    The same arguments give the same traces on every machine. A family that has no new prompt left is
    skipped; when none is left, InvalidInputError reports how many distinct prompts there are.

    Args:
        families: names from FAMILIES, or None for all of them.
        count: how many traces.
        seed: any integer.
        source: the `meta.source` of the traces.
    """
    if count < 1:
        raise InvalidInputError(f"Cannot generate {count} traces.", next_step="Ask for at least 1.")
    chosen = list(FAMILIES) if families is None else families
    return _rotate(list(dict.fromkeys(known_family(name) for name in chosen)), count, seed, source)


def known_family(name: str) -> Family:
    """The family of this name. An unknown name is an error that suggests the closest ones."""
    if name in FAMILIES:
        return FAMILIES[name]
    close = get_close_matches(name, FAMILIES, n=3)
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Choose from: {', '.join(FAMILIES)}."
    raise InvalidInputError(f"There is no generator named {name!r}.", next_step=hint)


def _rotate(queue: list[Family], count: int, seed: int, source: str) -> Iterator[Trace]:
    seen: set[str] = set()
    while len(seen) < count:
        if not queue:
            raise InvalidInputError(
                f"The chosen generators have only {len(seen)} distinct prompts, not {count}.",
                next_step="Ask for fewer traces, or choose more generators.",
            )
        family, index = queue.pop(0), len(seen)
        for attempt in range(_MAX_ATTEMPTS):
            problem = family.generate(SeededRandom(derived_seed(seed, family.name, index, attempt)))
            prompt = normalised_prompt(problem.prompt)
            if prompt in seen:
                continue
            seen.add(prompt)
            queue.append(family)
            meta = {"source": source, "category": family.category, "topic": family.topic}
            yield problem_trace(problem, meta | {"generator": family.name, "seed": seed, "index": index})
            break


GYM_PREFIX = "gym:"


class GeneratorInfo(Frozen):
    """A task in the output of `traces generate --list`."""

    name: str
    topic: str
    category: str
    extra: str = ""
    """The optional extra that the task needs; empty if none."""


def list_generators() -> list[GeneratorInfo]:
    """All tasks that can be generated. Listing them needs no optional extra."""
    own = [GeneratorInfo(name=f.name, topic=f.topic, category=f.category) for f in FAMILIES.values()]
    gym = [
        GeneratorInfo(name=f"{GYM_PREFIX}{name}", topic="reasoning_gym", category="reasoning", extra="gym")
        for name in sorted(GYM_STEPS)
    ]
    return own + gym


def generate_traces(tasks: Sequence[str] | None, count: int, seed: int) -> Iterator[Trace]:
    """Generate `count` traces, divided evenly among the tasks; the same arguments give the same traces.

    Args:
        tasks: built-in generators and `gym:NAME` for reasoning-gym tasks, or None for all built-in ones.
        count: total number of traces.
        seed: any integer.

    Example:
        generate_traces(["column_addition", "gym:gsm_symbolic"], 10, seed=1) -> 5 of each
    """
    tasks = list(dict.fromkeys(tasks or FAMILIES))
    own = [task for task in tasks if not task.startswith(GYM_PREFIX)]
    gym = [task.removeprefix(GYM_PREFIX) for task in tasks if task.startswith(GYM_PREFIX)]
    if count < 1:
        raise InvalidInputError(f"Cannot generate {count} traces.", next_step="Ask for at least 1.")
    per_gym_task = [count // len(tasks) + (position < count % len(tasks)) for position in range(len(gym))]
    if own and (num_own := count - sum(per_gym_task)):
        yield from generate(own, num_own, seed)
    for name, num_traces in zip(gym, per_gym_task, strict=True):
        if num_traces:
            yield from gym_traces(name, num_traces, seed)
