r"""Fields of a row; solution text split into steps and final answer.

The rules, in order; the first that fits is used and recorded in `meta.answer_rule`:

| rule | fits | answer | steps |
|---|---|---|---|
| `tags` | `<answer>x</answer>` | x | the text of `<reasoning>` or `<think>`, else the text before |
| `think` | `<think>r</think>rest` | rest, or by a later rule (`think+boxed`) | r, and rest if read so |
| `boxed` | `\boxed{x}` (the last one) | x | all of the text |
| `hash` | last line `#### x` | x | the lines before |
| `answer_line` | a line `Answer: x` or `Final answer: x` (the last one) | x | the other lines |
| `answer_sentence` | the last line says `the answer is x` | x | all of the text |
| `last_line` | anything else | the last line | the lines before, or that same line if it is alone |
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from tunix_rt.base.errors import DataError
from tunix_rt.traces.completion import closing_brace, parse_completion
from tunix_rt.traces.types import Trace, trace_from_text_steps

Row = Mapping[str, Any]
MAX_SHOWN_KEYS = 8


class RowError(ValueError):
    """The reason, in words for the user, why a row cannot become a trace."""


@dataclass(frozen=True)
class Solution:
    """A solution parsed from text, and the rule that separated the answer from the steps."""

    steps: list[str]
    final_answer: str
    rule: str
    notes: dict[str, Any] = field(default_factory=dict)


def text_of(row: Row, key: str) -> str:
    """The text under `key`; a missing, empty or non-text value is a row error."""
    if key not in row:
        keys = ", ".join(repr(other) for other in list(row)[:MAX_SHOWN_KEYS])
        keys += ", …" if len(row) > MAX_SHOWN_KEYS else ""
        raise RowError(f"has no {key!r}; it has {keys or 'no keys'}")
    value = row[key]
    if not isinstance(value, str):
        raise RowError(f"{key!r} must be text, not {kind_of(value)}")
    if not value.strip():
        raise RowError(f"{key!r} is empty")
    return value


def optional_text_of(row: Row, key: str) -> str:
    """The text under `key`, or an empty string when it is absent, null or blank."""
    value = row.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return ""
    return text_of(row, key)


def metadata_of(row: Row, key: str) -> dict[str, Any]:
    """The object under `key` (as JSON text in tables), or an empty one when it is absent or null."""
    value = row.get(key)
    if isinstance(value, str):
        value = parsed_json(value, key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RowError(f"{key!r} must be an object, not {kind_of(value)}")
    return dict(value)


def parsed_json(text: str, key: str) -> Any:
    """Parse JSON text inside a row, as in CSV and Parquet columns."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RowError(f"{key!r} is not readable JSON: {error}") from error


def rest_of(row: Row, used: Sequence[str]) -> dict[str, Any]:
    """The columns that no field of the trace uses; they go to `meta`."""
    return {key: value for key, value in row.items() if key not in used and value not in (None, "")}


def trace_from_solution(prompt: str, solution: Solution, meta: Mapping[str, Any]) -> Trace:
    """A trace with the rule that found its answer in `meta.answer_rule`."""
    meta = {**meta, "answer_rule": solution.rule, **solution.notes}
    return trace_from_text_steps(prompt, solution.steps, solution.final_answer, meta)


def kind_of(value: object) -> str:
    """The JSON name of a value's type, e.g. `null` or `a list`."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)


NUMBERING = re.compile(
    r"\s{0,8}(?:[*_]{2})?(?:step\s{1,4}(\d{1,3})\s{0,4}[.:)\-–—]|\(?(\d{1,3})[.)](?=\s|[*_]{2}))(?:[*_]{2})?\s*",
    re.IGNORECASE,
)
BLANK_LINES = re.compile(r"\n[^\S\n]*\n")


def split_steps(reasoning: str) -> list[str]:
    r"""The steps of a worked text, by the first rule that fits.

    1. Numbered: lines numbered 1, 2, 3, … from 0 or 1 (`1.`, `2)`, `(3)`, `Step 4:`) each start a step; lines
       between them belong to the step above. The numbers are removed because the position of a step
       replaces them.
    2. Paragraphs: text with blank lines has one step per paragraph.
    3. Lines: otherwise, each line is a step.

    Example:
        "1. 6*7=42\n   so 42\n2. 42+1=43" -> ["6*7=42\n   so 42", "42+1=43"]
    """
    blocks: list[list[str]] = [[]]
    expected: int | None = None
    for line in reasoning.split("\n"):
        match = NUMBERING.match(line)
        number = int(match.group(1) or match.group(2)) if match else None
        starts = number == expected if expected is not None else number in (0, 1)
        if match and starts and number is not None:
            blocks.append([line[match.end() :]])
            expected = number + 1
        else:
            blocks[-1].append(line)
    if expected is not None:
        parts = ["\n".join(block) for block in blocks]
    elif len(parts := BLANK_LINES.split(reasoning)) == 1:
        parts = reasoning.split("\n")
    return [part.strip() for part in parts if part.strip()]


UNMARKED_RULE = "last_line"

ANSWER_LINE = re.compile(
    r"[ \t]*[*_#]{0,4}[ \t]*(?:the[ \t]+)?(?:final[ \t]+)?answer"
    r"[ \t]*[*_]{0,2}[ \t]*:[ \t]*[*_]{0,2}[ \t]*(.*)",
    re.IGNORECASE,
)
ANSWER_SENTENCE = re.compile(r"\banswer\s{1,4}is:?\s{1,4}", re.IGNORECASE)
HASH_LINE = re.compile(r"\s*####\s*(.+)")


def split_solution(text: str) -> Solution:
    r"""Steps and final answer of a solution, by the rules above.

    Example:
        "6*7=42\n#### 42" -> Solution(steps=["6*7=42"], final_answer="42", rule="hash")

    Raises:
        RowError: The text is blank, truncated inside its markup, or contains text that would be lost.
    """
    if not text.strip():
        raise RowError("the solution is empty")
    if "<answer>" in text:
        return _by_tags(text)
    if "</think>" in text or "<think>" in text:
        before, closed, reply = text.partition("</think>")
        if not closed:
            raise RowError("<think> is never closed; the solution is cut off")
        if "<think>" in reply or "</think>" in reply:
            raise RowError("has more than one <think> block")
        return solution_with_reasoning(before.replace("<think>", "", 1), reply)
    if marked := _by_marker(text):
        return marked
    lines, _, last = text.rstrip().rpartition("\n")
    return Solution(split_steps(lines) or [last.strip()], last.strip(), UNMARKED_RULE)


def solution_with_reasoning(reasoning: str, reply: str) -> Solution:
    """A solution whose reasoning is separate from the reply, as with `<think>` or `reasoning_content`."""
    if not reasoning.strip():
        return split_solution(reply)
    if not reply.strip():
        raise RowError("has reasoning but no reply after it")
    marked = _by_tags(reply) if "<answer>" in reply else _by_marker(reply)
    if marked is None:
        return Solution(split_steps(reasoning), reply.strip(), "think")
    return Solution(split_steps(reasoning) + marked.steps, marked.final_answer, f"think+{marked.rule}")


def _by_tags(text: str) -> Solution:
    with suppress(DataError):
        parsed = parse_completion(text)
        return Solution(list(parsed.steps), parsed.answer, "tags")
    # Tags of other tools: `<think>` instead of `<reasoning>`, or plain text before `<answer>`.
    before, _, rest = text.rpartition("<answer>")
    answer, closed, after = rest.partition("</answer>")
    if not closed:
        raise RowError("<answer> is never closed; the solution is cut off")
    if after.strip():
        raise RowError("text follows </answer> and would be lost; move it before <answer>")
    if not answer.strip():
        raise RowError("<answer> is empty")
    if "<answer>" in before:
        raise RowError("has more than one <answer>")
    reasoning = re.sub(r"</?(?:reasoning|think)>", "\n", before)
    return Solution(split_steps(reasoning) or [answer.strip()], answer.strip(), "tags")


def _by_marker(text: str) -> Solution | None:
    for rule in (_by_boxed, _by_hash, _by_answer_line, _by_answer_sentence):
        solution = rule(text)
        if solution is not None and solution.final_answer:
            return solution
    return None


def _by_boxed(text: str) -> Solution | None:
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    inner = start + len("\\boxed{")
    end = closing_brace(text, inner)
    return None if end is None else Solution(split_steps(text), text[inner:end].strip(), "boxed")


def _by_hash(text: str) -> Solution | None:
    before, _, last = text.rstrip().rpartition("\n")
    match = HASH_LINE.fullmatch(last)
    if match is None:
        return None
    answer = match.group(1).strip()
    return Solution(split_steps(before) or [answer], answer, "hash")


def _by_answer_line(text: str) -> Solution | None:
    lines = text.split("\n")
    for index in reversed(range(len(lines))):
        match = ANSWER_LINE.fullmatch(lines[index])
        if match is None:
            continue
        before, after = "\n".join(lines[:index]), "\n".join(lines[index + 1 :])
        answer = _without_bold(match.group(1))
        if not answer:
            answer, after = after.strip(), ""
        steps = split_steps(before) + split_steps(after)
        return Solution(steps or [answer], answer, "answer_line")
    return None


def _by_answer_sentence(text: str) -> Solution | None:
    last_line = text.rstrip().rpartition("\n")[2]
    matches = list(ANSWER_SENTENCE.finditer(last_line))
    if not matches:
        return None
    answer = _without_bold(last_line[matches[-1].end() :]).removesuffix(".").strip()
    return Solution(split_steps(text), answer, "answer_sentence")


def _without_bold(answer: str) -> str:
    """The answer without Markdown bold around it: `**42**` -> `42`."""
    answer = answer.strip()
    for mark in ("**", "__"):
        if answer.startswith(mark) or (answer.endswith(mark) and answer.count(mark) == 1):
            answer = answer.removeprefix(mark).removesuffix(mark).strip()
    return answer
