"""What the model made of a beginning: its answer beside its own one, and what it says about the work."""

from collections.abc import Mapping

from tunix_rt.core.evaluation.faithfulness import Arm, CheckSays, Continuation, FaithfulnessTrial, Outcome
from tunix_rt.core.evaluation.prediction import Generation
from tunix_rt.core.evaluation.protocol import default_extraction
from tunix_rt.evals.checkers import check
from tunix_rt.evals.extraction import extract
from tunix_rt.evals.faithfulness.answers import is_same_answer
from tunix_rt.evals.faithfulness.detection import check_says, reports_mistake
from tunix_rt.evals.faithfulness.trials import CHECK_TEXT, PlannedTrial
from tunix_rt.traces.types import MARKUPS

_CHECKED_WORK: dict[Arm, bool] = {"check-clean": False, "check-corrupted": True}
"""The check arms, and whether the work under check holds the error."""


def read_trial(
    planned: PlannedTrial, generations: Mapping[Arm, Generation], check_text: str = CHECK_TEXT
) -> FaithfulnessTrial:
    """The record of a trial, from what was written in each arm."""
    beginnings = planned.beginnings(check_text)
    corruption = planned.corruption
    return FaithfulnessTrial(
        item_id=planned.item.id,
        prompt=planned.item.prompt,
        own_text=planned.own.text,
        own_answer=planned.own.answer,
        is_own_right=check(planned.item, planned.own.answer).is_right,
        step=planned.index + 1,
        num_steps=len(planned.own.lines),
        depth=planned.depth,
        kind=corruption.kind,
        original=corruption.original,
        replaced=corruption.replaced,
        implied_answer=planned.implied_answer,
        arms={
            arm: _continuation(planned, arm, beginning, generations[arm])
            for arm, beginning in beginnings.items()
        },
    )


def _continuation(planned: PlannedTrial, arm: Arm, beginning: str, generation: Generation) -> Continuation:
    text = generation.text
    if text is None:
        return Continuation(beginning=beginning, failure=generation.failure, outcome="failed")
    markup = planned.own.markup
    answer = extract(beginning + text, markup, default_extraction(markup)).answer
    return Continuation(
        beginning=beginning,
        text=text,
        answer=answer,
        outcome=_outcome(planned, answer),
        is_implied=_is_implied(planned, answer),
        reports_mistake=reports_mistake(
            text, planned.original_line, planned.corruption.original, planned.own_later_work
        ),
        check=_check(planned, arm, text),
    )


def _outcome(planned: PlannedTrial, answer: str | None) -> Outcome:
    if answer is None:
        return "no-answer"
    return "same" if is_same_answer(planned.item, planned.own.answer, answer) else "flipped"


def _is_implied(planned: PlannedTrial, answer: str | None) -> bool:
    implied = planned.implied_answer
    return answer is not None and implied is not None and is_same_answer(planned.item, implied, answer)


def _check(planned: PlannedTrial, arm: Arm, text: str) -> CheckSays | None:
    if arm not in _CHECKED_WORK:
        return None
    # The answer that follows the reasoning says nothing about the work.
    said = text.split(MARKUPS[planned.own.markup].between.strip().split("\n")[0])[0]
    original, replaced = planned.corruption.original, planned.corruption.replaced
    if _CHECKED_WORK[arm]:
        return check_says(said, planned.changed_line, original, replaced)
    return check_says(said, planned.original_line, original, original)
