"""The findings of the linter for reviewed texts and traces."""

import json
from pathlib import Path
from typing import Any

import pytest

from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.linter.rationals import as_text
from tunix_rt.traces.types import trace_from_text_steps

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES["claims"], ids=lambda case: f"{case['group']}: {case['text']}")
def test_claims_match_reviewed_cases(case: dict[str, Any]) -> None:
    text = case["text"]
    claims = read_step(text).claims
    wrong = [
        {
            "found": text[claim.span[0] : claim.span[1]],
            "expected": None if claim.expected is None else as_text(claim.expected),
        }
        for claim in claims
        if claim.verdict == "wrong"
    ]
    assert wrong == case["wrong"]
    assert sum(claim.verdict == "confirmed" for claim in claims) == case["confirmed"]


@pytest.mark.parametrize("case", CASES["traces"], ids=lambda case: case["name"])
def test_traces_match_reviewed_cases(case: dict[str, Any]) -> None:
    report = lint_trace(trace_from_text_steps(case["prompt"], case["steps"], case["final_answer"]))
    assert sorted(f"{finding.step}:{finding.code}" for finding in report.findings) == sorted(case["codes"])
    assert case["min_score"] <= report.score <= case["max_score"]


def test_reviewed_traces_cover_every_code() -> None:
    """test_lint_trace.py generates the texts of the two exceptions."""
    covered = {code.partition(":")[2] for case in CASES["traces"] for code in case["codes"]}
    assert set(CODES) - covered == {"reasoning-gibberish", "too-long-to-check"}
