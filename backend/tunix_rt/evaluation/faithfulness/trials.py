"""Choose a step to change; the prefix each arm continues from."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tunix_rt.base.errors import DataError
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.faithfulness.types import Arm, Depth, Exclusion
from tunix_rt.evaluation.scoring.checkers.check import check
from tunix_rt.evaluation.scoring.judgement import checked_steps
from tunix_rt.evaluation.types import Generation
from tunix_rt.traces.completion import StepLine, count_text, parse_completion, reasoning_lines
from tunix_rt.traces.corruption import Corruption, NothingToCorruptError, corrupt
from tunix_rt.traces.types import MARKUPS, MarkupStyle, trace_from_text_steps


def is_same_answer(item: EvalItem, first: str, second: str) -> bool:
    """Whether the checker of the item would take one for the other.

    Example:
        an item with numbers, "1,000" and "1000.0" -> True
    """
    if first.split() == second.split():
        return True
    # A task's own verifier knows one right answer only, so its answers are compared by their form.
    asked = {"expected_answer": first, "accepted_answers": (), "task": None}
    answer_type = None if item.answer_type == "task" else item.answer_type
    return check(item.model_copy(update={**asked, "answer_type": answer_type}), second).is_right is True


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
        for line in reasoning_lines(match.group(1), markup)
    )
    return OwnWork(text, markup, lines, parsed.answer)


CHECK_TEXT = "Check:"


@dataclass(frozen=True)
class PlannedTrial:
    """One item with its planted error; nothing of it has been shown to the model."""

    item: EvalItem
    own: OwnWork
    corruption: Corruption
    later_lines: tuple[str, ...]
    """The steps after the changed one, recomputed with the wrong result."""
    implied_answer: str | None

    @property
    def index(self) -> int:
        """Of the changed step, from 0."""
        return self.corruption.step

    @property
    def original_line(self) -> str:
        """The step as the model wrote it."""
        return self.own.lines[self.index].text

    @property
    def own_later_work(self) -> str:
        """What the model wrote after the step."""
        return self.own.text[self.own.lines[self.index].end :]

    @property
    def changed_line(self) -> str:
        """The step with the wrong result."""
        return self.corruption.trace.steps[self.index].content

    @property
    def depth(self) -> Depth:
        """Early in the first half of the steps, else late: an only step is late."""
        return "early" if 2 * (self.index + 1) <= len(self.own.lines) else "late"

    def beginnings(self, check_text: str = CHECK_TEXT) -> dict[Arm, str]:
        """What the model goes on from, in every arm that this work allows."""
        own, index, count = self.own, self.index, len(self.own.lines)
        broken = {index: self.changed_line}
        wholly_broken = broken | dict(enumerate(self.later_lines, start=index + 1))
        beginnings: dict[Arm, str] = {
            "control": own.beginning(index + 1),
            "corrupted": own.beginning(index + 1, broken),
            "all-steps": own.closed(count),
            "no-steps": own.closed(0),
        }
        if count > 1:
            beginnings["removed"] = own.closed(count, {index: None})
        if index > 0:  # else it is no-steps
            beginnings["early"] = own.closed(index)
        num_checked = self._num_lines_before(check_text)
        if index < num_checked:
            beginnings["check-clean"] = own.beginning(num_checked) + check_text
            beginnings["check-corrupted"] = own.beginning(num_checked, wholly_broken) + check_text
        return beginnings

    def _num_lines_before(self, check_text: str) -> int:
        """The steps before the model's own check, if it writes one: that is where it is made to begin."""
        lines = self.own.lines
        return next((i for i, line in enumerate(lines) if line.text.startswith(check_text)), len(lines))


def plan_trial(
    item: EvalItem, generation: Generation, markup: MarkupStyle, seed: int
) -> PlannedTrial | Exclusion:
    """The trial of an item, or the reason why there can be none.

    Work that has a wrong calculation already is left out: the planted error must be the only one.
    """
    if generation.text is None:
        return "no-text"
    if generation.finish == "cut-off":
        return "cut-off"
    own = read_own_work(generation.text, markup)
    if own is None:
        return "not-well-formed"
    steps = [line.text for line in own.lines]
    if any(step.verdict == "broken" for step in checked_steps(steps)):
        return "broken-work"
    try:
        trace = trace_from_text_steps(item.prompt, steps, own.answer)
        chance = _chance(item.id, seed)
        alone, spread = (corrupt(trace, chance, propagate=propagate) for propagate in (False, True))
    except (NothingToCorruptError, ValidationError):  # a step may be longer than a trace allows
        return "nothing-to-corrupt"
    later = tuple(step.content for step in spread.trace.steps[alone.step + 1 :])
    implied = spread.trace.final_answer
    has_reach = not is_same_answer(item, own.answer, implied)
    return PlannedTrial(item, own, alone, later, implied if has_reach else None)


def _chance(item_id: str, seed: int) -> int:
    """The seed of an item: independent of the other items that were drawn."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{item_id}".encode()).digest()[:8], "big")
