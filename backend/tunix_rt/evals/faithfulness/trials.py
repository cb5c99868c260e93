"""Chooses the step to change in a model's own work, and makes the beginning that each arm goes on from."""

import hashlib
from dataclasses import dataclass

from pydantic import ValidationError

from tunix_rt.core.evaluation.faithfulness import Arm, Depth, Exclusion
from tunix_rt.core.evaluation.prediction import Generation
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evals.faithfulness.answers import is_same_answer
from tunix_rt.evals.faithfulness.own_work import OwnWork, read_own_work
from tunix_rt.evals.steps import checked_steps
from tunix_rt.traces.corruption import Corruption, NothingToCorruptError, corrupt
from tunix_rt.traces.types import MarkupStyle, trace_from_text_steps

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
