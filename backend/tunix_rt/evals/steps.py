"""The steps of the shown work, with what the linter says about their arithmetic."""

from collections.abc import Iterable

from tunix_rt.core.evaluation.prediction import CheckedStep, StepVerdict
from tunix_rt.traces.linter.claims import read_step

MAX_CHARS_READ = 200_000
"""Steps beyond this many characters of a completion are not read."""


def checked_steps(steps: Iterable[str]) -> tuple[CheckedStep, ...]:
    """Every step with its verdict.

    Example:
        "48 / 2 = 25" -> broken; "48 / 2 = 24" -> confirmed; "Half of it is left." -> unchecked
    """
    checked = []
    num_chars = 0
    for step in steps:
        num_chars += len(step)
        verdict = _verdict(step) if num_chars <= MAX_CHARS_READ else "unchecked"
        checked.append(CheckedStep(text=step, verdict=verdict))
    return tuple(checked)


def _verdict(step: str) -> StepVerdict:
    verdicts = {claim.verdict for claim in read_step(step).claims}
    if "wrong" in verdicts:
        return "broken"
    return "confirmed" if "confirmed" in verdicts else "unchecked"
