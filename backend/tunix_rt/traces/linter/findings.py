"""Finding codes and the lint report."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

LINTER_VERSION = "1.0"
"""Changes whenever the same trace could get a different score or different findings."""


@dataclass(frozen=True)
class CodeInfo:
    """The severity of a finding, and its meaning in one line."""

    severity: Literal["error", "warning"]
    meaning: str


CODES: dict[str, CodeInfo] = {
    "arithmetic-wrong": CodeInfo("error", "A step states a calculation with a wrong result."),
    "answer-mismatch": CodeInfo(
        "error", "The last calculations give a different number than the final answer."
    ),
    "answer-unsupported": CodeInfo("error", "The final answer does not appear in any step."),
    "number-from-nowhere": CodeInfo(
        "warning", "A calculation uses a number that comes from neither the prompt nor an earlier step."
    ),
    "verification-empty": CodeInfo("warning", "A step claims to check the result but checks nothing."),
    "step-repeated": CodeInfo("warning", "A step repeats an earlier step."),
    "reasoning-empty": CodeInfo("error", "A step has no content: punctuation, a label or a placeholder."),
    "reasoning-gibberish": CodeInfo(
        "error", "A step is not language: repeated characters or random letters."
    ),
    "reasoning-truncated": CodeInfo("warning", "The last step stops in the middle of a sentence or formula."),
    "answer-in-prompt": CodeInfo("warning", "The prompt already states the final answer as the answer."),
    "markup-unsafe": CodeInfo(
        "error", "The text contains a tag that would break the reasoning or answer markup."
    ),
    "too-long-to-check": CodeInfo(
        "warning", "The arithmetic of the step was not checked because the trace is too large."
    ),
}


class Finding(BaseModel):
    """One defect, its location, and the expected text."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    code: str
    """A key of `CODES`."""
    step: int | None
    """`TraceStep.i` of the step; None when the finding is about the prompt or the final answer."""
    span: tuple[int, int]
    """Character offsets in that step's content, or in the prompt or the final answer."""
    found: str
    expected: str | None = None


class LintReport(BaseModel):
    """The findings in one trace and the resulting score."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    linter_version: str = LINTER_VERSION
    score: float = Field(ge=0, le=100)
    components: dict[str, float]
    """Factors between 0 and 1; the score is 100 times their product. `docs/linter.md` defines each."""
    findings: tuple[Finding, ...]
