"""The lines of shown work, and where each of them stands."""

import re
from dataclasses import dataclass

_COUNT = re.compile(r"\((\d{1,4})/(\d{1,4})\)\s+(?=\S)")


@dataclass(frozen=True)
class StepLine:
    """A line of work that is not blank."""

    text: str
    """Without its count and without white space around it."""
    start: int
    """Where the line begins: at its count, if it has one."""
    end: int
    number: int | None = None
    """Which step it is, if the line says so."""
    total: int | None = None
    """Of how many."""


def step_lines(reasoning: str, *, are_counted: bool = False) -> list[StepLine]:
    r"""One step a line.

    A count is taken off where it is the next one in order; any other one belongs to the text.

    Example:
        "(1/2) 6*7=42\n(2/3) 8", counted -> StepLine("6*7=42", 0, 12, 1, 2), StepLine("(2/3) 8", 13, 20)
    """
    found: list[StepLine] = []
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
            found.append(StepLine(text, start, end, number, total if number else None))
        position += len(line) + 1
    return found
