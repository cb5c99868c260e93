"""Validate eval sets and describe their composition."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.assets import shipped_dataset_names, shipped_evalset_names, shipped_traces
from tunix_rt.base.records import Pagination, pagination
from tunix_rt.base.settings import Settings
from tunix_rt.datasets.evalsets import evalset_paths, named_evalset, read_eval_lines
from tunix_rt.datasets.files import dataset_keys
from tunix_rt.datasets.service import iter_rows
from tunix_rt.datasets.types import EvalItem, evalset_hash
from tunix_rt.evaluation.scoring.checkers.check import unreadable_answer
from tunix_rt.evaluation.scoring.checkers.text import canonical_text
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


class EvalSetProblem(BaseModel):
    """An error or a warning, and its line."""

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
    """True if there are no errors; warnings are allowed."""
    num_items: int
    content_hash: str
    sections: dict[str, int]
    categories: dict[str, int]
    difficulties: dict[str, int]
    problems: tuple[EvalSetProblem, ...]


def validate_evalset(
    path: Path, *, dataset_prompts: Mapping[str, Iterable[str]] | None = None
) -> EvalSetReport:
    """Check a file line by line and as a whole. Raises only if the file does not exist.

    Args:
        path: the JSONL file.
        dataset_prompts: prompts of training datasets by dataset name; a question that occurs in one of them
            (ignoring case and white space) is an error.
    """
    lines = list(read_eval_lines(path))
    numbered = [(line.line, line.item) for line in lines if line.item is not None]
    items = [item for _, item in numbered]
    problems = [_problem("line-invalid", line.line, line.problem) for line in lines if line.problem]
    problems += _problems_of_items(numbered, dataset_prompts or {})
    if not items:
        problems.append(_problem("too-few-items", None, "0 items, at least 1 are needed"))
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
    severity: Literal["error", "warning"] = "warning" if code == "answer-in-prompt" else "error"
    return EvalSetProblem(code=code, severity=severity, line=line, message=message)


def _problems_of_items(
    numbered: list[tuple[int, EvalItem]], dataset_prompts: Mapping[str, Iterable[str]]
) -> Iterator[EvalSetProblem]:
    """Repetitions, then leaked answers, unusable answers and contamination."""
    line_of_id: dict[str, int] = {}
    line_of_prompt: dict[str, int] = {}
    for line, item in numbered:
        if (first := line_of_id.setdefault(item.id, line)) != line:
            yield _problem("id-repeated", line, f"id {item.id!r} is also on line {first}")
        if (first := line_of_prompt.setdefault(normalised_prompt(item.prompt), line)) != line:
            yield _problem("prompt-repeated", line, f"the same question is on line {first}")
    for line, item in numbered:
        # An adjacent digit or letter, or a digit group after a separator, makes it part of something else.
        pattern = rf"(?<![\w])(?<!\d[.,]){re.escape(item.expected_answer)}(?![\w])(?![.,]\d)"
        if re.search(pattern, item.prompt, re.IGNORECASE):
            message = f"the answer {item.expected_answer!r} is in the prompt; fine only for a choice"
            yield _problem("answer-in-prompt", line, message)
    for line, item in numbered:
        if (reason := unreadable_answer(item)) is not None:
            yield _problem("answer-unreadable", line, f"no answer can be correct: {reason}")
        if len({canonical_text(choice) for choice in item.choices}) < len(item.choices):
            yield _problem("choices-repeated", line, "two choices are the same")
    last_line = {normalised_prompt(item.prompt): line for line, item in numbered}
    for name, prompts in sorted(dataset_prompts.items()):
        shared = last_line.keys() & map(normalised_prompt, prompts)
        for line in sorted(last_line[prompt] for prompt in shared):
            yield _problem("contaminated", line, f"the question is also in the dataset {name!r}")


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


class EvalSetSummary(BaseModel):
    """An eval set and its composition."""

    model_config = ConfigDict(frozen=True)
    name: str
    is_shipped: bool
    """Part of the package; otherwise a user's eval set in the home directory."""
    is_valid: bool
    """False: it cannot be used; `tunix-rt data validate` explains why."""
    num_items: int
    content_hash: str
    sections: dict[str, int]
    categories: dict[str, int]
    difficulties: dict[str, int]


class EvalSetList(BaseModel):
    """All named eval sets, by name."""

    model_config = ConfigDict(frozen=True)
    data: tuple[EvalSetSummary, ...]


class EvalSetDetail(BaseModel):
    """An eval set with a page of its items."""

    model_config = ConfigDict(frozen=True)
    evalset: EvalSetSummary
    data: tuple[EvalItem, ...]
    pagination: Pagination


def list_evalsets(settings: Settings) -> EvalSetList:
    """The shipped eval sets and those of the user, including invalid ones."""
    paths = evalset_paths(settings)
    return EvalSetList(data=tuple(_summary(name, path) for name, path in sorted(paths.items())))


def get_evalset(settings: Settings, name: str, *, limit: int, offset: int) -> EvalSetDetail:
    """An eval set with a page of its items.

    Raises:
        NotFoundError: there is no eval set of this name.
        DataError: it is invalid.
    """
    items = named_evalset(settings, name).items
    page = items[offset : offset + limit]
    return EvalSetDetail(
        evalset=_summary(name, evalset_paths(settings)[name]),
        data=page,
        pagination=pagination(limit, offset, len(page), len(items)),
    )


def _summary(name: str, path: Path) -> EvalSetSummary:
    report = validate_evalset(path)
    return EvalSetSummary(
        name=name,
        is_shipped=name in shipped_evalset_names(),
        **report.model_dump(exclude={"file", "problems"}),
    )


def validate_evalset_file(path: Path, *, datasets_dir: Path) -> EvalSetReport:
    """Validate an eval set, also against the questions of the shipped and the built datasets."""
    shipped = {name: _prompts(shipped_traces(name)) for name in shipped_dataset_names()}
    built = {
        key: _prompts(row.canonical for row in iter_rows(datasets_dir, key))
        for key in dataset_keys(datasets_dir)
    }
    return validate_evalset(path, dataset_prompts=shipped | built)


def _prompts(lines: Iterable[str]) -> Iterator[str]:
    return (json.loads(line)["prompt"] for line in lines)
