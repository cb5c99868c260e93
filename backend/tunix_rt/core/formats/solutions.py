r"""Solution text as steps and a final answer.

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
from collections.abc import Callable

from tunix_rt.base.errors import DataError
from tunix_rt.core.braces import closing_brace
from tunix_rt.core.formats.rows import RowError, Solution
from tunix_rt.core.formats.steps import split_steps
from tunix_rt.core.rendering import parse_completion

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
        RowError: The text is blank, truncated inside its markup, or holds text that would be lost.
    """
    if not text.strip():
        raise RowError("the solution is empty")
    if "<answer>" in text:
        return _by_tags(text)
    if "</think>" in text or "<think>" in text:
        return _by_think(text)
    return _by_marker(text) or _by_last_line(text)


def solution_with_reasoning(reasoning: str, reply: str) -> Solution:
    """A solution whose reasoning is kept apart from the reply, as `<think>` or `reasoning_content` do."""
    if not reasoning.strip():
        return split_solution(reply)
    if not reply.strip():
        raise RowError("has reasoning but no reply after it")
    marked = _by_tags(reply) if "<answer>" in reply else _by_marker(reply)
    if marked is None:
        return Solution(split_steps(reasoning), reply.strip(), "think")
    return Solution(split_steps(reasoning) + marked.steps, marked.final_answer, f"think+{marked.rule}")


def _by_tags(text: str) -> Solution:
    try:
        parsed = parse_completion(text)
    except DataError:
        return _by_loose_tags(text)
    return Solution(list(parsed.steps), parsed.answer, "tags")


def _by_loose_tags(text: str) -> Solution:
    """Tags as other tools write them: `<think>` for `<reasoning>`, or plain text before `<answer>`."""
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


def _by_think(text: str) -> Solution:
    before, closed, reply = text.partition("</think>")
    if not closed:
        raise RowError("<think> is never closed; the solution is cut off")
    if "<think>" in reply or "</think>" in reply:
        raise RowError("has more than one <think> block")
    return solution_with_reasoning(before.replace("<think>", "", 1), reply)


def _by_marker(text: str) -> Solution | None:
    rules: tuple[Callable[[str], Solution | None], ...] = (
        _by_boxed,
        _by_hash,
        _by_answer_line,
        _by_answer_sentence,
    )
    for rule in rules:
        found = rule(text)
        if found is not None and found.final_answer:
            return found
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
    for index in range(len(lines) - 1, -1, -1):
        match = ANSWER_LINE.fullmatch(lines[index])
        if match is None:
            continue
        before, after = "\n".join(lines[:index]), "\n".join(lines[index + 1 :])
        answer = _unadorned(match.group(1))
        if not answer:
            answer, after = after.strip(), ""
        steps = split_steps(before) + split_steps(after)
        return Solution(steps or [answer], answer, "answer_line")
    return None


def _by_answer_sentence(text: str) -> Solution | None:
    last_line = text.rstrip().rpartition("\n")[2]
    found = list(ANSWER_SENTENCE.finditer(last_line))
    if not found:
        return None
    answer = _unadorned(last_line[found[-1].end() :]).removesuffix(".").strip()
    return Solution(split_steps(text), answer, "answer_sentence")


def _by_last_line(text: str) -> Solution:
    before, _, last = text.rstrip().rpartition("\n")
    answer = last.strip()
    return Solution(split_steps(before) or [answer], answer, UNMARKED_RULE)


def _unadorned(answer: str) -> str:
    """The answer without Markdown bold around it: `**42**` -> `42`."""
    answer = answer.strip()
    for mark in ("**", "__"):
        if answer.startswith(mark) or (answer.endswith(mark) and answer.count(mark) == 1):
            answer = answer.removeprefix(mark).removesuffix(mark).strip()
    return answer
