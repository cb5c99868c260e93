"""Finding codes and the lint report."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.traces.types import Frozen

LINTER_VERSION = "1.1"
"""Changes whenever the same trace could get a different score or different findings."""
EARLIER_LINTER_VERSIONS = frozenset({"1.0"})
"""Versions whose verdicts evidence bundles may still state; they cannot be computed again."""


class LintCode(Frozen):
    """One kind of finding."""

    code: str
    severity: Literal["error", "warning"]
    meaning: str


_MEANINGS: dict[str, tuple[Literal["error", "warning"], str]] = {
    "arithmetic-wrong": ("error", "A step states a calculation with a wrong result."),
    "answer-mismatch": ("error", "The last calculations give a different number than the final answer."),
    "answer-unsupported": ("error", "The final answer does not appear in any step."),
    "number-from-nowhere": (
        "warning",
        "A calculation uses a number that comes from neither the prompt nor an earlier step.",
    ),
    "verification-empty": ("warning", "A step claims to check the result but checks nothing."),
    "step-repeated": ("warning", "A step repeats an earlier step."),
    "reasoning-empty": ("error", "A step has no content: punctuation, a label or a placeholder."),
    "reasoning-gibberish": ("error", "A step is not language: repeated characters or random letters."),
    "reasoning-truncated": ("warning", "The last step stops in the middle of a sentence or formula."),
    "answer-in-prompt": ("warning", "The prompt already states the final answer as the answer."),
    "markup-unsafe": ("error", "The text contains a tag that would break the reasoning or answer markup."),
    "too-long-to-check": (
        "warning",
        "The arithmetic of the step was not checked because the trace is too large.",
    ),
}
CODES = {
    code: LintCode(code=code, severity=severity, meaning=meaning)
    for code, (severity, meaning) in _MEANINGS.items()
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
