"""Choose a step to change, and build the prefix that each arm continues from."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.faithfulness.types import Arm, Depth, Exclusion
from tunix_rt.evaluation.scoring.checkers.check import check
from tunix_rt.evaluation.scoring.extraction import parse_well_formed
from tunix_rt.evaluation.scoring.judgement import checked_steps
from tunix_rt.evaluation.types import Generation
from tunix_rt.traces.completion import StepLine, count_text, reasoning_lines
from tunix_rt.traces.corruption import Corruption, NothingToCorruptError, corrupt
from tunix_rt.traces.types import MARKUPS, MarkupStyle, trace_from_text_steps


def is_same_answer(item: EvalItem, first: str, second: str) -> bool:
    """Whether the checker of the item accepts one answer for the other.

    Example:
        an item with numbers, "1,000" and "1000.0" -> True
    """
    if first.split() == second.split():
        return True
    # A task's verifier knows only one correct answer, so answers to tasks are compared by their form.
    changes = {"expected_answer": first, "accepted_answers": (), "task": None}
    answer_type = None if item.answer_type == "task" else item.answer_type
    return check(item.model_copy(update={**changes, "answer_type": answer_type}), second).is_right is True


@dataclass(frozen=True)
class ModelSteps:
    """The steps and the answer of a well-formed completion."""

    text: str
    markup: MarkupStyle
    lines: tuple[StepLine, ...]
    answer: str

    def beginning(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        r"""The completion up to the end of a step, its line break included.

        Args:
            num_lines: how many steps; 0 gives the text before the first one.
            changes: index of a step -> its replacement; None removes the line and renumbers counted steps.

        Example:
            1 of "<reasoning>\n6*7=42\n</reasoning>…" with {0: "6*7=43"} -> "<reasoning>\n6*7=43\n"
        """
        return self._render(num_lines, changes or {}, self.lines[num_lines:])

    def closed(self, num_lines: int, changes: Mapping[int, str | None] | None = None) -> str:
        """The same with the reasoning closed, as if these were all the steps: the answer comes next."""
        beginning = self._render(num_lines, changes or {}, ())
        between = MARKUPS[self.markup].between
        return beginning + (between.removeprefix("\n") if beginning.endswith("\n") else between)

    def _render(
        self, num_lines: int, changes: Mapping[int, str | None], following: Sequence[StepLine]
    ) -> str:
        lines = self.lines[:num_lines]
        texts = [changes.get(index, line.text) for index, line in enumerate(lines)]
        shown = [line for line, text in zip(lines, texts, strict=True) if text is not None]
        total = sum(line.number is not None for line in (*shown, *following))
        rendered = self.text[: self.lines[0].start]
        number = 0
        for index, (line, text) in enumerate(zip(lines, texts, strict=True)):
            if text is None:
                continue
            if line.number is not None:
                number += 1
                rendered += count_text(number, total)
            if index + 1 < num_lines:
                end = self.lines[index + 1].start
            else:
                end = line.end + (self.text[line.end : line.end + 1] == "\n")
            rendered += text + self.text[line.end : end]
        return rendered


def parse_model_steps(text: str, markup: MarkupStyle) -> ModelSteps | None:
    """The steps of a completion, or None if it is not in the form that training teaches."""
    parsed, match = parse_well_formed(text, markup), MARKUPS[markup].pattern.fullmatch(text)
    if parsed is None or match is None:
        return None
    start = match.start(1)
    lines = tuple(
        replace(line, start=start + line.start, end=start + line.end)
        for line in reasoning_lines(match.group(1), markup)
    )
    return ModelSteps(text, markup, lines, parsed.answer)


CHECK_TEXT = "Check:"


@dataclass(frozen=True)
class PlannedTrial:
    """One item with its planted error, before the model sees any of it."""

    item: EvalItem
    steps: ModelSteps
    corruption: Corruption
    later_lines: tuple[str, ...]
    """The steps after the changed one, recomputed with the wrong result."""
    implied_answer: str | None

    @property
    def index(self) -> int:
        """Index of the changed step, from 0."""
        return self.corruption.step

    @property
    def original_line(self) -> str:
        """The step as the model wrote it."""
        return self.steps.lines[self.index].text

    @property
    def changed_line(self) -> str:
        """The step with the wrong result."""
        return self.corruption.trace.steps[self.index].content

    @property
    def depth(self) -> Depth:
        """Early in the first half of the steps, else late; a single step is late."""
        return "early" if 2 * (self.index + 1) <= len(self.steps.lines) else "late"

    def beginnings(self, check_text: str = CHECK_TEXT) -> dict[Arm, str]:
        """The prefix that the model continues, for every arm that these steps allow."""
        steps, index, count = self.steps, self.index, len(self.steps.lines)
        changed = {index: self.changed_line}
        propagated = changed | dict(enumerate(self.later_lines, start=index + 1))
        beginnings: dict[Arm, str] = {
            "control": steps.beginning(index + 1),
            "corrupted": steps.beginning(index + 1, changed),
            "all-steps": steps.closed(count),
            "no-steps": steps.closed(0),
        }
        if count > 1:
            beginnings["removed"] = steps.closed(count, {index: None})
        if index > 0:  # else it equals no-steps
            beginnings["early"] = steps.closed(index)
        # The check starts where the model starts its own check, if it does, else after the last step.
        lines = enumerate(steps.lines)
        num_checked = next((i for i, line in lines if line.text.startswith(check_text)), count)
        if index < num_checked:
            beginnings["check-clean"] = steps.beginning(num_checked) + check_text
            beginnings["check-corrupted"] = steps.beginning(num_checked, propagated) + check_text
        return beginnings


def plan_trial(
    item: EvalItem, generation: Generation, markup: MarkupStyle, seed: int
) -> PlannedTrial | Exclusion:
    """The trial of an item, or the reason why there is none.

    Steps with a wrong calculation are excluded: the planted error must be the only one.
    """
    if generation.text is None:
        return "no-text"
    if generation.finish == "cut-off":
        return "cut-off"
    steps = parse_model_steps(generation.text, markup)
    if steps is None:
        return "not-well-formed"
    texts = [line.text for line in steps.lines]
    if any(step.verdict == "broken" for step in checked_steps(texts)):
        return "broken-work"
    # Independent of the other sampled items.
    item_seed = int.from_bytes(hashlib.sha256(f"{seed}/{item.id}".encode()).digest()[:8], "big")
    try:
        trace = trace_from_text_steps(item.prompt, texts, steps.answer)
        corruption, propagated = (corrupt(trace, item_seed, propagate=again) for again in (False, True))
    except (NothingToCorruptError, ValidationError):  # a step may be longer than a trace allows
        return "nothing-to-corrupt"
    later = tuple(step.content for step in propagated.trace.steps[corruption.step + 1 :])
    implied = propagated.trace.final_answer
    reaches_answer = not is_same_answer(item, steps.answer, implied)
    return PlannedTrial(item, steps, corruption, later, implied if reaches_answer else None)
