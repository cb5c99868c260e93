"""What a generator makes: a problem worked step by step, before it becomes a trace."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tunix_rt.core.generation.dice import Dice
from tunix_rt.datasets.types import Difficulty
from tunix_rt.traces.types import Trace, TraceStep

Category = Literal["reasoning", "synthetic", "golden_style", "edge_case"]


@dataclass(frozen=True)
class Worked:
    """A question, its typed steps and its answer, all right by construction."""

    prompt: str
    steps: tuple[tuple[str, str], ...]
    """(type, content) of each step, e.g. ("calculation", "3 × 4 = 12.")."""
    answer: str
    difficulty: Difficulty = "easy"


@dataclass(frozen=True)
class Family:
    """A kind of problem that can be made in many versions."""

    name: str
    topic: str
    category: Category
    make: Callable[[Dice], Worked]


def worked_trace(worked: Worked, meta: dict[str, Any]) -> Trace:
    """The trace of a worked problem, its steps numbered from 0."""
    return Trace(
        prompt=worked.prompt,
        steps=tuple(TraceStep(i=i, type=kind, content=text) for i, (kind, text) in enumerate(worked.steps)),
        final_answer=worked.answer,
        meta={**meta, "difficulty": worked.difficulty},
    )


def families(topic: str, category: Category, *makers: Callable[[Dice], Worked]) -> tuple[Family, ...]:
    """One family per maker, named after it."""
    return tuple(Family(maker.__name__, topic, category, maker) for maker in makers)
