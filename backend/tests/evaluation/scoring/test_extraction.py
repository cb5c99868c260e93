"""Extraction of the answer and the steps. The cases are in extraction_cases.json."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.builders import make_trace

from tunix_rt.base.errors import DataError
from tunix_rt.evaluation.scoring.extraction import Extracted, extract
from tunix_rt.evaluation.types import default_extraction
from tunix_rt.traces.completion import parse_completion, render_completion
from tunix_rt.traces.types import MARKUP_STYLES, MarkupStyle

CASES = json.loads((Path(__file__).parent / "extraction_cases.json").read_text(encoding="utf-8"))
MAX_CPU_S = 60.0
PARTS = (
    "<reasoning>",
    "</reasoning>",
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "\\boxed{",
    "}",
    "####",
)
LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Zs", "Cs"]), min_size=1)


def extract_answer(text: str, markup: MarkupStyle = "reasoning", *, is_lenient: bool = False) -> Extracted:
    return extract(text, markup, default_extraction(markup, is_lenient=is_lenient))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_extraction_matches_reviewed_case(case: dict[str, Any]) -> None:
    extracted = extract_answer(case["text"], case["markup"], is_lenient=case.get("lenient", False))
    expected = (case["answer"], case["rule"], case["well_formed"])
    assert (extracted.answer, extracted.rule, extracted.is_well_formed) == expected, case["why"]
    if "steps" in case:
        assert list(extracted.steps) == case["steps"], case["why"]


@pytest.mark.parametrize("markup", MARKUP_STYLES)
@given(steps=st.lists(LINES, min_size=1, max_size=4), answer=LINES)
@example(steps=["0"], answer="\\")
@example(steps=["0"], answer=r"{\}")
@example(steps=["a\\", "{"], answer=r"\{")
def test_rendered_completion_round_trips(markup: MarkupStyle, steps: list[str], answer: str) -> None:
    try:
        text = render_completion(make_trace(steps=steps, final_answer=answer), markup).text
        parsed = parse_completion(text, markup)
    except DataError:
        return  # the content contains reserved markup, which is never rendered
    extracted = extract_answer(text, markup)
    assert (extracted.answer, extracted.steps, extracted.is_well_formed) == (
        parsed.answer,
        parsed.steps,
        True,
    )


@given(
    text=st.lists(st.sampled_from([*PARTS, "18", "\n", " "]) | st.text(max_size=5), max_size=30).map("".join)
)
def test_answer_is_part_of_text(text: str) -> None:
    for markup in MARKUP_STYLES:
        extracted = extract_answer(text, markup, is_lenient=True)
        assert all(answer and answer in text for answer in extracted.given)
        assert (extracted.rule is None) == (extracted.answer is None)


@pytest.mark.parametrize(
    "hostile",
    [
        part * (100_000 // len(part))
        for part in (*PARTS, "<answer></answer>", "1,111", "1 ", "- ", "answer is ")
    ]
    + ["</reasoning>\n<answer></answer>" * 3_000 + "x", "\\boxed{" * 5_000 + "}" * 50_000, "A:\n" * 30_000],
)
def test_hostile_text_is_read_quickly(hostile: str) -> None:
    start = time.process_time()
    for markup in MARKUP_STYLES:
        extract_answer(hostile, markup, is_lenient=True)
    assert time.process_time() - start < MAX_CPU_S


def test_lenient_rules_are_opt_in() -> None:
    assert extract_answer("So it is 18.").answer is None
    assert extract_answer("So it is 18.", is_lenient=True).is_lenient


def test_all_different_answers_are_returned() -> None:
    assert extract_answer("<answer>18</answer> no, <answer>19</answer> or <answer>18</answer>").given == (
        "18",
        "19",
    )
