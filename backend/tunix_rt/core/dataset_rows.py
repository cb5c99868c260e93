"""What the dataset builder must know about a row, taken from its JSON once."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import from_json

from tunix_rt.core.similarity import Question, numbers, question_of
from tunix_rt.traces.types import StoredTrace, label_text, normalised_prompt

UNKNOWN = "unknown"
_SCALARS = (str, int, float, bool)


class RowFacts(NamedTuple):
    """Everything but the text, so that a hundred thousand rows fit in little memory."""

    id: UUID
    created_at: datetime
    score: float | None
    question_key: bytes
    """Same key, same normalised prompt."""
    answer_key: bytes
    content_key: bytes
    """Same key, same question, steps and answer, whatever the meta data."""
    num_steps: int
    num_chars: int
    source: str
    category: str
    difficulty: str


def digest(text: str) -> bytes:
    """A 16-byte fingerprint of a text."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def solution_text(trace: Mapping[str, Any]) -> str:
    """The steps of a trace as one text."""
    return "\n".join(step["content"] for step in trace["steps"])


def parse_row(stored: StoredTrace) -> tuple[RowFacts, Question]:
    """The facts of a stored row, and its question."""
    trace = from_json(stored.canonical)
    question = question_of(trace["prompt"])
    solution = solution_text(trace)
    answer = normalised_prompt(trace["final_answer"])
    meta = trace["meta"]
    num_steps, num_chars = row_sizes(trace)
    facts = RowFacts(
        id=stored.id,
        created_at=stored.created_at,
        score=stored.score,
        question_key=digest(question.text),
        answer_key=digest(answer),
        content_key=digest(f"{question.text}\0{normalised_prompt(solution)}\0{answer}"),
        num_steps=num_steps,
        num_chars=num_chars,
        source=_label(meta, "source"),
        category=_label(meta, "category"),
        difficulty=_label(meta, "difficulty"),
    )
    return facts, question


def numbers_key(trace: Mapping[str, Any]) -> bytes:
    """Same key, same numbers in the question, same numbers in the solution, same answer."""
    question = numbers(trace["prompt"])
    # Sorted: a solution may take the same steps in another order.
    solution = sorted(numbers(solution_text(trace)))
    return digest(" ".join([*question, "|", *solution, "|", normalised_prompt(trace["final_answer"])]))


def row_sizes(trace: Mapping[str, Any]) -> tuple[int, int]:
    """How many steps a trace has, and how many characters in prompt, steps and answer together."""
    step_chars = sum(len(step["content"]) for step in trace["steps"])
    return len(trace["steps"]), len(trace["prompt"]) + len(trace["final_answer"]) + step_chars


def _label(meta: Mapping[str, Any], name: str) -> str:
    value = meta.get(name)
    return label_text(value) if isinstance(value, _SCALARS) else UNKNOWN
