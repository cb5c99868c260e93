"""Facts about rows: normalized question, shingles, split and statistics."""

import hashlib
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import from_json

from tunix_rt.datasets.types import Distribution, SplitStatistics
from tunix_rt.traces.types import StoredTrace, label_text, normalised_prompt

SHINGLE_WORDS = 3

# Operators count as words: "12 + 30" and "12 - 30" are different questions.
_WORD = re.compile(r"\w+|[-+*/×÷=<>%^]")
_NUMBER = re.compile(r"\d[\d.,]*")


class Question(NamedTuple):
    """A prompt in a form that can be compared."""

    text: str
    """With normalized case and white space."""
    numbers: tuple[str, ...]
    """In reading order: "5 minus 3" is not "3 minus 5"."""


def question_of(prompt: str) -> Question:
    """The comparable form of a prompt."""
    text = normalised_prompt(prompt)
    return Question(text, tuple(numbers(text)))


def words(text: str) -> list[str]:
    """The words, numbers and operators of a text; case and other punctuation are ignored.

    Example:
        "Tom has 3 apples, right?" -> ["tom", "has", "3", "apples", "right"]
    """
    return _WORD.findall(text.casefold())


def shingles(text_words: list[str]) -> set[str]:
    """Every run of three words; a shorter text is one shingle.

    Example:
        ["a", "b", "c", "d"] -> {"a b c", "b c d"}
    """
    if len(text_words) <= SHINGLE_WORDS:
        return {" ".join(text_words)}
    columns = [text_words[start:] for start in range(SHINGLE_WORDS)]
    return set(map(" ".join, zip(*columns, strict=False)))


def jaccard(first: set[str], second: set[str]) -> float:
    """Jaccard similarity of two sets, from 0 (disjoint) to 1 (equal)."""
    num_shared = len(first & second)
    num_all = len(first) + len(second) - num_shared
    return num_shared / num_all if num_all else 1.0


def numbers(text: str) -> list[str]:
    """The numbers of a text in reading order, without thousands separators.

    Example:
        "2 pens for $1,200.50" -> ["2", "1200.50"]
    """
    return [number.rstrip(".,").replace(",", "") for number in _NUMBER.findall(text)]


UNKNOWN = "unknown"
_SCALARS = (str, int, float, bool)


class RowFacts(NamedTuple):
    """All facts about a row except its text, so that 100,000 rows need little memory."""

    id: UUID
    created_at: datetime
    score: float | None
    question_key: bytes
    """Equal for equal normalized prompts."""
    answer_key: bytes
    content_key: bytes
    """Equal for the same question, steps and answer, whatever the metadata."""
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
    """A key of the numbers in the question, the numbers in the solution, and the answer."""
    question = numbers(trace["prompt"])
    # Sorted: a solution may take the same steps in another order.
    solution = sorted(numbers(solution_text(trace)))
    return digest(" ".join([*question, "|", *solution, "|", normalised_prompt(trace["final_answer"])]))


def row_sizes(trace: Mapping[str, Any]) -> tuple[int, int]:
    """The number of steps, and the number of characters in prompt, steps and answer."""
    step_chars = sum(len(step["content"]) for step in trace["steps"])
    return len(trace["steps"]), len(trace["prompt"]) + len(trace["final_answer"]) + step_chars


def _label(meta: Mapping[str, Any], name: str) -> str:
    value = meta.get(name)
    return label_text(value) if isinstance(value, _SCALARS) else UNKNOWN


MAX_NAMES = 50
OTHER = "(other)"


def split_statistics(rows: Iterable[RowFacts]) -> SplitStatistics:
    """The statistics of one split, in one pass over its rows."""
    steps: Counter[float] = Counter()
    chars: Counter[float] = Counter()
    scores: Counter[float] = Counter()
    labels: dict[str, Counter[str]] = {name: Counter() for name in ("source", "category", "difficulty")}
    answers: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for row in rows:
        steps[row.num_steps] += 1
        chars[row.num_chars] += 1
        if row.score is not None:
            scores[row.score] += 1
        for name, counter in labels.items():
            counter[getattr(row, name)] += 1
        answers[row.question_key].add(row.answer_key)
    return SplitStatistics(
        num_rows=steps.total(),
        num_prompts=len(answers),
        num_prompts_with_several_answers=sum(len(keys) > 1 for keys in answers.values()),
        steps=distribution(steps),
        chars=distribution(chars),
        score=distribution(scores),
        num_scored=scores.total(),
        sources=most_common(labels["source"]),
        categories=most_common(labels["category"]),
        difficulties=most_common(labels["difficulty"]),
    )


def distribution(histogram: Mapping[float, int]) -> Distribution | None:
    """Mean and nearest-rank percentiles of counted values; None without values.

    Example:
        {2: 1, 4: 3} -> mean 3.5, p50 4, p95 4, max 4
    """
    total = sum(histogram.values())
    if total == 0:
        return None
    mean = sum(value * count for value, count in histogram.items()) / total
    values = sorted(histogram)
    ranks = list(accumulate(histogram[value] for value in values))
    p50, p95 = (values[bisect_left(ranks, fraction * total)] for fraction in (0.50, 0.95))
    return Distribution(mean=round(mean, 4), p50=p50, p95=p95, max=values[-1])


def most_common(counter: Counter[str]) -> dict[str, int]:
    """The most frequent names first, ties by name; the rest are summed in one entry.

    Example:
        {"a": 1, "b": 2} -> {"b": 2, "a": 1}
    """
    ranked = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    shown = dict(ranked[:MAX_NAMES])
    num_hidden = sum(count for _, count in ranked[MAX_NAMES:])
    return shown | {OTHER: num_hidden} if num_hidden else shown


def unit_hash(text: str, *, seed: int) -> float:
    """A number in [0, 1) that depends only on the seed and the text, on every machine."""
    digest = hashlib.blake2b(f"{seed}:{text}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def split_of(question: str, splits: Mapping[str, float], *, seed: int) -> str:
    """The split that a question belongs to.

    Rows of the same question are always in the same split, and adding rows never moves a question.

    Args:
        question: the normalised prompt.
        splits: fractions that sum to 1, in the order in which they divide [0, 1).
        seed: another seed gives a different split.

    Example:
        hash 0.93, {"train": 0.9, "validation": 0.1} -> "validation"
    """
    position = unit_hash(question, seed=seed)
    names = list(splits)
    upper = 0.0
    for name in names[:-1]:
        upper += splits[name]
        if position < upper:
            return name
    return names[-1]
