"""Reads what the steps of a trace say, and reports what is wrong with it."""

from tunix_rt.core.linting.claims import Claim, read_claims
from tunix_rt.core.linting.findings import Finding, LintReport
from tunix_rt.core.linting.ratios import as_text
from tunix_rt.core.trace import Trace, TraceStep


def lint_trace(trace: Trace) -> LintReport:
    """The defects of a trace, and its score.

    Example:
        a step "48 / 2 = 25" -> arithmetic-wrong at that step, found "25", expected "24"
    """
    claims = {step.i: read_claims(step.content) for step in trace.steps}
    findings = [
        _wrong_arithmetic(step, claim)
        for step in trace.steps
        for claim in claims[step.i]
        if claim.verdict == "wrong"
    ]
    num_checked = sum(claim.verdict != "unreadable" for found in claims.values() for claim in found)
    arithmetic = 1 - len(findings) / num_checked if num_checked else 0.5
    return LintReport(score=100 * arithmetic, components={"arithmetic": arithmetic}, findings=tuple(findings))


def _wrong_arithmetic(step: TraceStep, claim: Claim) -> Finding:
    start, end = claim.span
    return Finding(
        code="arithmetic-wrong",
        step=step.i,
        span=claim.span,
        found=step.content[start:end],
        expected=None if claim.expected is None else as_text(claim.expected),
    )
