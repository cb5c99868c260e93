"""Whether an eval set may be used: everything that is wrong with it, and what it consists of."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.datasets.evalsets import EvalLine, read_eval_lines
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evals.checkers import unreadable_answer
from tunix_rt.evals.checkers.text import canonical_text
from tunix_rt.traces.types import normalised_prompt

ProblemCode = Literal[
    "line-invalid",
    "id-repeated",
    "prompt-repeated",
    "too-few-items",
    "contaminated",
    "answer-in-prompt",
    "answer-unreadable",
    "choices-repeated",
]
_WARNINGS: frozenset[ProblemCode] = frozenset({"answer-in-prompt"})


class EvalSetProblem(BaseModel):
    """One thing that is wrong, or worth a look, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    code: ProblemCode
    severity: Literal["error", "warning"]
    line: int | None
    message: str


class EvalSetReport(BaseModel):
    """The verdict on an eval set file, with its composition."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    file: str
    is_valid: bool
    """No error; warnings do not count."""
    num_items: int
    content_hash: str
    sections: dict[str, int]
    categories: dict[str, int]
    difficulties: dict[str, int]
    problems: tuple[EvalSetProblem, ...]


def validate_evalset(
    path: Path, *, dataset_prompts: Mapping[str, Iterable[str]] | None = None, min_items: int = 1
) -> EvalSetReport:
    """Check a file line by line and as a whole. Raises only when there is no such file.

    Args:
        path: the JSONL file.
        dataset_prompts: prompts of training datasets by dataset name; the same question in one of them
            (case and white space aside) is an error.
        min_items: fewer items than this is an error.
    """
    lines = list(read_eval_lines(path))
    items = [line.item for line in lines if line.item is not None]
    problems = [*_line_problems(lines), *_repetitions(lines), *_leaks(lines), *_unusable_answers(lines)]
    problems += _contamination(lines, dataset_prompts or {})
    if len(items) < min_items:
        problems.append(
            _problem("too-few-items", None, f"{len(items)} items, at least {min_items} are needed")
        )
    return EvalSetReport(
        file=path.name,
        is_valid=all(problem.severity == "warning" for problem in problems),
        num_items=len(items),
        content_hash=evalset_hash(items),
        sections=_counts(item.section for item in items),
        categories=_counts(item.category for item in items),
        difficulties=_counts(item.difficulty for item in items),
        problems=tuple(problems),
    )


def _problem(code: ProblemCode, line: int | None, message: str) -> EvalSetProblem:
    severity: Literal["error", "warning"] = "warning" if code in _WARNINGS else "error"
    return EvalSetProblem(code=code, severity=severity, line=line, message=message)


def _line_problems(lines: list[EvalLine]) -> Iterator[EvalSetProblem]:
    return (_problem("line-invalid", line.line, line.problem) for line in lines if line.problem)


def _repetitions(lines: list[EvalLine]) -> Iterator[EvalSetProblem]:
    first_with_id: dict[str, int] = {}
    first_with_prompt: dict[str, int] = {}
    for line, item in _numbered(lines):
        first = first_with_id.setdefault(item.id, line)
        if first != line:
            yield _problem("id-repeated", line, f"id {item.id!r} is also on line {first}")
        first = first_with_prompt.setdefault(normalised_prompt(item.prompt), line)
        if first != line:
            yield _problem("prompt-repeated", line, f"the same question is on line {first}")


def _leaks(lines: list[EvalLine]) -> Iterator[EvalSetProblem]:
    for line, item in _numbered(lines):
        if _stands_in(item.expected_answer, item.prompt):
            message = f"the answer {item.expected_answer!r} stands in the prompt; fine only for a choice"
            yield _problem("answer-in-prompt", line, message)


def _unusable_answers(lines: list[EvalLine]) -> Iterator[EvalSetProblem]:
    for line, item in _numbered(lines):
        if (reason := unreadable_answer(item)) is not None:
            yield _problem("answer-unreadable", line, f"no answer could ever be right: {reason}")
        if len({canonical_text(choice) for choice in item.choices}) < len(item.choices):
            yield _problem("choices-repeated", line, "two choices are the same")


def _stands_in(answer: str, prompt: str) -> bool:
    # A digit or letter next to it, or a digit group beyond a separator, makes it part of something else.
    return bool(
        re.search(rf"(?<![\w])(?<!\d[.,]){re.escape(answer)}(?![\w])(?![.,]\d)", prompt, re.IGNORECASE)
    )


def _contamination(
    lines: list[EvalLine], dataset_prompts: Mapping[str, Iterable[str]]
) -> Iterator[EvalSetProblem]:
    line_of = {normalised_prompt(item.prompt): line for line, item in _numbered(lines)}
    for name, prompts in sorted(dataset_prompts.items()):
        shared = {line_of[key] for prompt in prompts if (key := normalised_prompt(prompt)) in line_of}
        for line in sorted(shared):
            yield _problem("contaminated", line, f"the question is also in the dataset {name!r}")


def _numbered(lines: list[EvalLine]) -> Iterator[tuple[int, EvalItem]]:
    return ((line.line, line.item) for line in lines if line.item is not None)


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())
