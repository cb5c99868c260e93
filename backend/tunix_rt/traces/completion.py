"""Render a trace as the completion that a model is trained on, and parse such a completion.

Training, evaluation, serving, exports and the X-ray all use this module. The chat template around the
completion is separate; see `docs/templates.md`.
"""

import re
from dataclasses import dataclass
from typing import Literal

from tunix_rt.base.errors import DataError
from tunix_rt.traces.types import DEFAULT_MARKUP, MARKUPS, MarkupStyle, Trace

_TOKEN = re.compile(r"\\.|[{}]", re.DOTALL)


def closing_brace(text: str, start: int = 0) -> int | None:
    r"""The offset of the brace that closes the one before `start`; None if there is none.

    Example:
        r"\frac{1}{2}} so", 0 -> 11        r"\}", 0 -> None
    """
    depth = 1
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            return token.start()
    return None


def fits_in_braces(text: str) -> bool:
    r"""Whether braces around `text` match each other: not for `a}`, `{a` and `a\`."""
    return closing_brace(text + "}") == len(text)


_COUNT = re.compile(r"\((\d{1,4})/(\d{1,4})\)\s+(?=\S)")


@dataclass(frozen=True)
class StepLine:
    """A non-blank line of the reasoning."""

    text: str
    """Without count and surrounding white space."""
    start: int
    """Offset of the start of the line, including its count."""
    end: int
    number: int | None = None
    """The step number, if the line has a count."""
    total: int | None = None
    """The total number of steps, if the line has a count."""


def step_lines(reasoning: str, *, are_counted: bool = False) -> list[StepLine]:
    r"""One step per line.

    A count is removed if it is the next one in order; any other count belongs to the text.

    Example:
        "(1/2) 6*7=42\n(2/3) 8", counted -> StepLine("6*7=42", 0, 12, 1, 2), StepLine("(2/3) 8", 13, 20)
    """
    lines: list[StepLine] = []
    position, last, total = 0, 0, None
    for line in reasoning.split("\n"):
        text, number = line.strip(), None
        start = position + len(line) - len(line.lstrip())
        end = start + len(text)
        count = _COUNT.match(text) if are_counted else None
        if count and int(count[1]) == last + 1 and int(count[2]) == (total or int(count[2])):
            number = last = last + 1
            total = int(count[2])
            text = text[count.end() :]
        if text:
            lines.append(StepLine(text, start, end, number, total if number else None))
        position += len(line) + 1
    return lines


CompletionPart = Literal["reasoning", "answer", "markup"]


@dataclass(frozen=True)
class PartSpan:
    """Characters `start` to `end` (exclusive) of the completion belong to `part`."""

    part: CompletionPart
    start: int
    end: int


@dataclass(frozen=True)
class Completion:
    """The completion of one trace, with every character assigned to a part."""

    text: str
    spans: tuple[PartSpan, ...]


@dataclass(frozen=True)
class ParsedCompletion:
    """The content of a well-formed completion."""

    steps: tuple[str, ...]
    answer: str


def render_completion(trace: Trace, style: MarkupStyle = DEFAULT_MARKUP) -> Completion:
    r"""The completion of a trace: one step per line, then the answer.

    Step types are omitted, and line breaks inside steps are preserved. Content that contains the markup is
    rejected, because the start of the answer would be ambiguous.

    Example:
        steps ["6*7=42"], answer "42" -> "<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>"

    Raises:
        DataError: A step or the answer holds reserved markup, or braces that could not be read back.
    """
    _require_no_reserved_markup(trace, style)
    markup = MARKUPS[style]
    steps = [step.content for step in trace.steps]
    if markup.counts_steps:
        steps = [count_text(number, len(steps)) + step for number, step in enumerate(steps, start=1)]
    parts: tuple[tuple[CompletionPart, str], ...] = (
        ("markup", markup.before_reasoning),
        ("reasoning", "\n".join(steps)),
        ("markup", markup.between),
        ("answer", trace.final_answer),
        ("markup", markup.after_answer),
    )
    completion = ""
    spans: list[PartSpan] = []
    for part, text in parts:
        if text:
            spans.append(PartSpan(part, len(completion), len(completion) + len(text)))
        completion += text
    return Completion(completion, tuple(spans))


def parse_completion(text: str, style: MarkupStyle = DEFAULT_MARKUP) -> ParsedCompletion:
    r"""The steps (one per line) and the answer of a well-formed completion.

    Strict: text outside the markup, a repeated tag, no step, no answer, or steps without the counts that the
    markup requires are errors. Surrounding white space is not part of a step or answer.

    Example:
        "<think>\na\nb\n</think>\n\n7", "think" -> steps ("a", "b"), answer "7"

    Raises:
        DataError: The text does not have the form that `render_completion` produces.
    """
    match = MARKUPS[style].pattern.fullmatch(text)
    if match is None:
        raise _not_well_formed(f"the {style} markup is missing or something stands outside it", style)
    if style == "boxed" and not fits_in_braces(match.group(2)):
        raise _not_well_formed("the braces of \\boxed{…} do not balance", style)
    reasoning, answer = match.group(1), match.group(2).strip()
    if doubled := reserved_markup_in(reasoning + "\n" + answer, style):
        raise _not_well_formed(f"{doubled[0]} occurs more than once", style)
    lines = reasoning_lines(reasoning, style)
    if not lines or not answer:
        raise _not_well_formed("the reasoning or the answer is empty", style)
    # A line without a count continues the step above it, so the first line must have a count.
    counted = [line for line in lines if line.number is not None]
    is_counted = lines[0].number is not None and counted[-1].number == counted[-1].total
    if MARKUPS[style].counts_steps and not is_counted:
        raise _not_well_formed("the steps are not counted from (1/N) to (N/N)", style)
    return ParsedCompletion(steps=tuple(line.text for line in lines), answer=answer)


def reasoning_lines(reasoning: str, style: MarkupStyle) -> list[StepLine]:
    """The lines of the reasoning, without their counts if the markup style counts steps."""
    return step_lines(reasoning, are_counted=MARKUPS[style].counts_steps)


def count_text(number: int, total: int) -> str:
    """The count before a step: `(1/3) `."""
    return f"({number}/{total}) "


def reserved_markup_in(text: str, style: MarkupStyle = DEFAULT_MARKUP) -> list[str]:
    """The reserved texts of a markup style that occur in `text`, e.g. `["</answer>"]`."""
    return [reserved for reserved in MARKUPS[style].reserved if reserved in text]


def chat_messages(prompt: str, completion: str | None = None) -> list[dict[str, str]]:
    """The prompt, and the completion if there is one, as the messages that chat templates take."""
    messages = [{"role": "user", "content": prompt}]
    if completion is not None:
        messages.append({"role": "assistant", "content": completion})
    return messages


def _require_no_reserved_markup(trace: Trace, style: MarkupStyle) -> None:
    contents = [(f"Step {step.i}", step.content) for step in trace.steps]
    contents.append(("The final answer", trace.final_answer))
    for name, content in contents:
        if reserved := reserved_markup_in(content, style):
            raise DataError(
                f"{name} contains {reserved[0]!r}, which the {style!r} markup reserves.",
                next_step="Remove it from the trace, or choose another markup style.",
            )
    if style == "boxed" and not fits_in_braces(trace.final_answer):
        raise DataError(
            "The final answer has unbalanced braces or ends in a backslash: \\boxed{…} would not close.",
            next_step="Correct the answer as LaTeX (a brace that is only shown is \\{ or \\}), "
            "or choose another markup style.",
        )


def _not_well_formed(reason: str, style: MarkupStyle) -> DataError:
    return DataError(
        f"Not a well-formed completion: {reason}.",
        next_step=f"Write it as the {style!r} style in docs/templates.md shows.",
    )
