"""The model's own completion, cut into the lines of its work, so that a beginning of it can be given back."""

from collections.abc import Mapping
from dataclasses import dataclass

from tunix_rt.core.errors import DataError
from tunix_rt.core.rendering import MARKUPS, MarkupStyle, parse_completion


@dataclass(frozen=True)
class Line:
    """A step and where it stands in the completion."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class OwnWork:
    """A well-formed completion with its steps and its answer."""

    text: str
    markup: MarkupStyle
    lines: tuple[Line, ...]
    answer: str

    def beginning(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        r"""The completion up to the end of a step, its line break included.

        Args:
            num_lines: how many steps; 0 gives what stands before the first one.
            changes: index of a step -> the text in its place; None leaves the line out.

        Example:
            1 of "<reasoning>\n6*7=42\n</reasoning>…" with {0: "6*7=43"} -> "<reasoning>\n6*7=43\n"
        """
        kept = self.lines[:num_lines]
        pieces = [self.text[: self.lines[0].start]]
        for index, line in enumerate(kept):
            after = self.lines[index + 1].start if index + 1 < len(kept) else self._line_end(line)
            new = line.text if changes is None else changes.get(index, line.text)
            if new is not None:
                pieces += [new, self.text[line.end : after]]
        return "".join(pieces)

    def closed(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        """The same with the reasoning ended at once, so that the answer is next."""
        beginning = self.beginning(num_lines, changes)
        between = MARKUPS[self.markup].between
        return beginning + (between.removeprefix("\n") if beginning.endswith("\n") else between)

    def _line_end(self, line: Line) -> int:
        return line.end + (self.text[line.end : line.end + 1] == "\n")


def read_own_work(text: str, markup: MarkupStyle) -> OwnWork | None:
    """The work of a completion, or None when it is not in the form that training teaches."""
    # Asked first, because it keeps the pattern's search linear.
    if any(text.count(mark) != 1 for mark in MARKUPS[markup].reserved):
        return None
    try:
        parsed = parse_completion(text, markup)
    except DataError:
        return None
    match = MARKUPS[markup].pattern.fullmatch(text)
    assert match is not None  # it was just parsed
    lines = []
    position = match.start(1)
    for step in parsed.steps:
        start = text.index(step, position)
        position = start + len(step)
        lines.append(Line(step, start, position))
    return OwnWork(text, markup, tuple(lines), parsed.answer)
