"""Problem problem, problem family, seeded draws, numbers and nouns in English."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Literal, TypeVar

from tunix_rt.datasets.types import Difficulty
from tunix_rt.traces.types import Trace, TraceStep

T = TypeVar("T")


def derived_seed(*parts: object) -> int:
    """A seed made of an item's name, so that an item does not depend on how many came before it."""
    text = "/".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


class SeededRandom:
    """Random choices that use only `Random.random()`, the one method whose sequence Python keeps stable."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def randint(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.randint(0, len(items) - 1)]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """`size` distinct items in random order."""
        return self.shuffled(items)[:size]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in random order (Fisher-Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.randint(0, last)
            result[last], result[other] = result[other], result[last]
        return result

    def chance(self, percent: int) -> bool:
        """True with a probability of `percent` %."""
        return self.randint(1, 100) <= percent


NAMES = (
    "Ada", "Ben", "Carla", "Dev", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Keiko", "Liam",
    "Mona", "Nils", "Olga", "Priya", "Quentin", "Rosa", "Samir", "Tara", "Umar", "Vera", "Wanda", "Yusuf",
)  # fmt: skip


@dataclass(frozen=True)
class Noun:
    """A countable noun in singular and plural."""

    one: str
    many: str


def noun(one: str, many: str = "") -> Noun:
    """A noun; the plural ends in -s unless it is given."""
    return Noun(one, many or f"{one}s")


THINGS = tuple(
    map(
        noun,
        ("marble", "sticker", "stamp", "shell", "postcard", "bead", "coin", "badge", "button", "model car"),
    )
)
BAKED = tuple(map(noun, ("muffin", "bagel", "pancake", "waffle", "cookie", "pretzel")))
FOODS = (
    *BAKED,
    noun("peach", "peaches"),
    noun("tomato", "tomatoes"),
    noun("cherry", "cherries"),
    noun("egg"),
)
GOODS = tuple(
    map(noun, ("backpack", "lamp", "jacket", "kettle", "tent", "radio", "helmet", "keyboard", "umbrella"))
)


def counted(number: int, thing: Noun) -> str:
    """The number with the right form of the noun: `1 peach`, `3 peaches`."""
    return f"{number} {thing.one if number == 1 else thing.many}"


def money(cents: int) -> str:
    """An amount in dollars with both decimals: 1500 -> `$15.00`."""
    return f"${cents // 100}.{cents % 100:02d}"


def decimal(value: Fraction | int) -> str:
    """The exact decimal of a fraction that has one: 5/4 -> `1.25`, 3 -> `3`."""
    value = Fraction(value)
    for places in range(12):
        scaled = abs(value) * 10**places
        if scaled.denominator == 1:
            digits = str(scaled.numerator).rjust(places + 1, "0")
            text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
            return f"-{text}" if value < 0 else text
    raise ValueError(f"{value} has no short exact decimal")


def listed(items: Sequence[str], joiner: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} {joiner} {items[-1]}"


def row(numbers: Sequence[int]) -> str:
    """`1, 2, 3`."""
    return ", ".join(map(str, numbers))


def with_article(word: str) -> str:
    """`an umbrella`, `a tent`; sufficient for the nouns used here."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


Category = Literal["reasoning", "synthetic", "golden_style", "edge_case"]


@dataclass(frozen=True)
class Problem:
    """A question, its typed steps and its answer, all correct by construction."""

    prompt: str
    steps: tuple[tuple[str, str], ...]
    """(type, content) of each step, e.g. ("calculation", "3 × 4 = 12.")."""
    answer: str
    difficulty: Difficulty = "easy"


@dataclass(frozen=True)
class Family:
    """A kind of problem with many instances."""

    name: str
    topic: str
    category: Category
    generate: Callable[[SeededRandom], Problem]


_PART = re.compile(r"^ *(prompt|setup|given|calculation|process|deduction|check|answer): ", re.MULTILINE)


def worked_problem(rng: SeededRandom, text: str, answer: object, difficulty: Difficulty = "easy") -> Problem:
    """The problem that `text` describes, with one of its prompts.

    The text is a sequence of `kind: content`, each on a new line, with the prompts first; a line without a
    kind continues the one before it. Drawing the prompt must be the last use of `rng`.

    Example:
        prompt: What is {a} + {b}?
        prompt: Add {a} and {b}.
        answer: {a} + {b} = {a + b}.
    """
    _, *parts = _PART.split(text)
    contents = [" ".join(part.split()) for part in parts[1::2]]
    steps = tuple(zip(parts[::2], contents, strict=True))
    prompts = [content for kind, content in steps if kind == "prompt"]
    return Problem(rng.choice(prompts), steps[len(prompts) :], str(answer), difficulty)


def problem_trace(problem: Problem, meta: dict[str, Any]) -> Trace:
    """The trace of a worked problem, its steps numbered from 0."""
    return Trace(
        prompt=problem.prompt,
        steps=tuple(TraceStep(i=i, type=kind, content=text) for i, (kind, text) in enumerate(problem.steps)),
        final_answer=problem.answer,
        meta={**meta, "difficulty": problem.difficulty},
    )


def families(
    topic: str, category: Category, *generators: Callable[[SeededRandom], Problem]
) -> tuple[Family, ...]:
    """One family per generator, named after it."""
    return tuple(Family(generate.__name__, topic, category, generate) for generate in generators)
