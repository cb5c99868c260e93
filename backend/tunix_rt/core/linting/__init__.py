"""The trace linter: checks what the steps say, and scores a trace by it (never by its length)."""

from tunix_rt.core.linting.claims import Claim, StepReading, read_step
from tunix_rt.core.linting.findings import CODES, LINTER_VERSION, CodeInfo, Finding, LintReport
from tunix_rt.core.linting.linter import lint_trace

__all__ = [
    "CODES",
    "LINTER_VERSION",
    "Claim",
    "CodeInfo",
    "Finding",
    "LintReport",
    "StepReading",
    "lint_trace",
    "read_step",
]
