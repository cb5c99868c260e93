"""The model's own completion, cut into the lines of its work, so that a beginning of it can be given back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tunix_rt.base.errors import DataError
from tunix_rt.traces.completion import StepLine, count_text, parse_completion, shown_lines
from tunix_rt.traces.types import MARKUPS, MarkupStyle


@dataclass(frozen=True)
class OwnWork:
    """A well-formed completion with its steps and its answer."""

    text: str
    markup: MarkupStyle
    lines: tuple[StepLine, ...]
    answer: str

    def beginning(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        r"""The completion up to the end of a step, its line break included.

        Args:
            num_lines: how many steps; 0 gives what stands before the first one.
            changes: index of a step -> the text in its place; None leaves the line out, and counts close the
                gap.

        Example:
            1 of "<reasoning>\n6*7=42\n</reasoning>…" with {0: "6*7=43"} -> "<reasoning>\n6*7=43\n"
        """
        return self._written(num_lines, changes or {}, self.lines[num_lines:])

    def closed(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        """The same with the reasoning ended at once, as if these were all its steps: the answer is next."""
        beginning = self._written(num_lines, changes or {}, ())
        between = MARKUPS[self.markup].between
        return beginning + (between.removeprefix("\n") if beginning.endswith("\n") else between)

    def _written(
        self, num_lines: int, changes: Mapping[int, str | None], still_to_come: Sequence[StepLine]
    ) -> str:
        kept = self.lines[:num_lines]
        texts = [changes.get(index, line.text) for index, line in enumerate(kept)]
        shown = [line for line, text in zip(kept, texts, strict=True) if text is not None]
        total = sum(line.number is not None for line in (*shown, *still_to_come))
        pieces = [self.text[: self.lines[0].start]]
        number = 0
        for index, (line, text) in enumerate(zip(kept, texts, strict=True)):
            if text is None:
                continue
            if line.number is not None:
                number += 1
                pieces.append(count_text(number, total))
            after = self.lines[index + 1].start if index + 1 < len(kept) else self._line_end(line)
            pieces += [text, self.text[line.end : after]]
        return "".join(pieces)

    def _line_end(self, line: StepLine) -> int:
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
    start = match.start(1)
    lines = tuple(
        replace(line, start=start + line.start, end=start + line.end)
        for line in shown_lines(match.group(1), markup)
    )
    return OwnWork(text, markup, lines, parsed.answer)
