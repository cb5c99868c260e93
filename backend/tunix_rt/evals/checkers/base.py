"""What every checker gives back."""

from dataclasses import dataclass

from tunix_rt.datasets.types import CheckerName
from tunix_rt.evals.checkers.plain import clean

_MAX_QUOTED_CHARS = 80


@dataclass(frozen=True)
class Checked:
    """Whether an answer is right, and why."""

    is_right: bool | None
    """None: the checker could not decide, so the answer is unscored."""
    checker: CheckerName
    explanation: str
    canonical: str | None
    """Equal answers have equal texts. None: there is nothing to count a vote by."""


def undecidable(checker: CheckerName, expected: str, kind: str) -> Checked:
    """No verdict, because the expected answer itself is not of its kind."""
    return Checked(None, checker, f"the expected answer {quoted(expected)!r} is no {kind}", None)


def quoted(text: str) -> str:
    """A text as explanations show it: on one line, and not too long."""
    line = " ".join(clean(text).split())
    return line if len(line) <= _MAX_QUOTED_CHARS else line[: _MAX_QUOTED_CHARS - 1] + "…"
