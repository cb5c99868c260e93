"""Scores and findings of whole traces."""

import random
import re
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tunix_rt.traces.linter.findings import CODES, LINTER_VERSION, LintReport
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import MAX_STEP_CHARS, MAX_STEPS, Trace, trace_from_text_steps

REPOSITORY = Path(__file__).parents[4]
PROMPT = "A baker fills 12 boxes with 8 rolls each and sells 30 rolls. How many rolls are left?"
STEPS = ["The boxes hold 12 * 8 = 96 rolls.", "After the sale 96 - 30 = 66 rolls are left."]
WORDS = "window purple marble thunder candle forest velvet anchor lantern pepper saddle meadow copper".split()
LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et "
    "dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi."
)


def _ten_steps(make_step: Callable[[random.Random], str]) -> list[str]:
    rng = random.Random(7)
    return [make_step(rng) for _ in range(10)]


def _random_word(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9)))


GIBBERISH = {
    "random letters": _ten_steps(lambda rng: " ".join(_random_word(rng) for _ in range(80))),
    "random words": _ten_steps(lambda rng: " ".join(rng.choices(WORDS, k=100))),
    "random numbers": _ten_steps(lambda rng: " ".join(str(rng.randint(0, 9999)) for _ in range(100))),
    "words and numbers": _ten_steps(lambda rng: " ".join(rng.choices([*WORDS, "12", "7", "88"], k=100))),
    "random symbols": _ten_steps(lambda rng: "".join(rng.choices("#@!%&*-+=~^/", k=500))),
    "random characters": _ten_steps(
        lambda rng: "".join(rng.choices(string.ascii_letters + "0123456789+/=", k=500))
    ),
    "one letter per step": [letter * 500 for letter in "abcdefghij"],
    "one letter": ["a" * 500] * 10,
    "one word": ["blah " * 100] * 10,
    "keyboard rows": ["asdf jkl qwerty uiop " * 20] * 10,
    "placeholder Latin": [LOREM] * 10,
    "numbered Latin": [f"{i}. {LOREM}" for i in range(10)],
    "emoji": ["🙂🙃😀" * 150] * 10,
}


@pytest.mark.parametrize("steps", GIBBERISH.values(), ids=GIBBERISH)
def test_gibberish_scores_below_five(steps: list[str]) -> None:
    assert lint_trace(trace_from_text_steps(PROMPT, steps, "65")).score < 5


def test_correct_trace_scores_100() -> None:
    report = lint_trace(trace_from_text_steps(PROMPT, STEPS, "66"))
    assert (report.score, report.findings, report.linter_version) == (100, (), LINTER_VERSION)


def test_padding_never_raises_score() -> None:
    padding = ["Rolls are a kind of bread that a baker sells in boxes."]
    short = lint_trace(trace_from_text_steps(PROMPT, ["The boxes hold rolls, and 66 rolls are left."], "66"))
    long = lint_trace(
        trace_from_text_steps(PROMPT, padding * 5 + ["The boxes hold rolls, and 66 rolls are left."], "66")
    )
    assert long.score <= short.score


def test_correct_claims_cannot_offset_wrong_ones() -> None:
    wrong = ["The boxes hold 12 * 8 = 97 rolls.", "After the sale 97 - 30 = 67 rolls are left."]
    diluted = [*(f"Also {n} + 1 = {n + 1} rolls." for n in range(50)), *wrong]
    few = lint_trace(trace_from_text_steps(PROMPT, wrong, "67"))
    many = lint_trace(trace_from_text_steps(PROMPT, diluted, "67"))
    assert many.components["arithmetic"] == few.components["arithmetic"] == 0.5


def test_score_is_product_of_components() -> None:
    report = lint_trace(trace_from_text_steps(PROMPT, ["12 * 8 = 97 rolls", *STEPS[1:]], "66"))
    product = 100.0
    for factor in report.components.values():
        assert 0 <= factor <= 1
        product *= factor
    assert report.score == pytest.approx(product, abs=0.01)


def test_finding_locates_step_and_text() -> None:
    trace = trace_from_text_steps(PROMPT, ["The boxes hold 12 * 8 = 97 rolls.", STEPS[1]], "66")
    renumbered = trace.model_copy(
        update={"steps": tuple(step.model_copy(update={"i": 10 * step.i + 5}) for step in trace.steps)}
    )
    finding = lint_trace(renumbered).findings[0]
    assert (finding.code, finding.step, finding.found, finding.expected) == (
        "arithmetic-wrong",
        5,
        "97",
        "96",
    )
    start, end = finding.span
    assert renumbered.steps[0].content[start:end] == "97"


def test_expected_percentage_has_percent_sign() -> None:
    trace = trace_from_text_steps("What is left after 20% off?", ["100% - 20% = 70%"], "70%")
    assert lint_trace(trace).findings[0].expected == "80%"


# Far above the CPU time of these cases on a busy machine, and far below catastrophic backtracking.
MAX_CPU_S = 60

HOSTILE = {
    "towers": "9**9**9**9 = 1 ",
    "many ones": "1+",
    "equals": "1=1=",
    "brackets": "(",
    "digits": "9",
    "mixed": "1 1/2 ",
    "words": "one two three plus ",
    "spaces": "1            +",
    "fractions": r"\frac{",
    "nested": r"\frac{1}{2}",
    "tags": "<",
    "annotations": "<<1+1=",
    "commas": "1,",
    "percent": "5 % of ",
    "letters": "ab-",
    "apostrophes": "a'",
    "units": "5 m / s ",
}


def lint_in_time(trace: Trace) -> LintReport:
    start = time.process_time()
    report = lint_trace(trace)
    assert time.process_time() - start < MAX_CPU_S
    return report


@pytest.mark.parametrize("seed_text", HOSTILE.values(), ids=HOSTILE)
def test_longest_hostile_step_does_not_hang(seed_text: str) -> None:
    step = (seed_text * MAX_STEP_CHARS)[:MAX_STEP_CHARS]
    lint_in_time(trace_from_text_steps(PROMPT, [step], "66"))


def test_number_findings_are_capped() -> None:
    step = " ".join(str(n * n + 7) for n in range(500, 3500))[:MAX_STEP_CHARS]
    report = lint_in_time(trace_from_text_steps(PROMPT, [step], step))
    assert 10 < sum(finding.code == "number-from-nowhere" for finding in report.findings) <= 50


def test_many_verification_steps_do_not_hang() -> None:
    claims = [" and ".join(f"{n} + {i} = {n + i}" for n in range(60)) for i in range(100)]
    lint_in_time(trace_from_text_steps(PROMPT, [f"Check: {text}" for text in claims], "66"))


@pytest.mark.parametrize("seed_text", ["1+1=2 and ", "lorem ipsum ", "1+"])
def test_largest_trace_reports_unchecked_text(seed_text: str) -> None:
    step = (seed_text * MAX_STEP_CHARS)[: MAX_STEP_CHARS - 5]
    trace = trace_from_text_steps(PROMPT, [f"{i:04} {step}" for i in range(MAX_STEPS)], "66")
    report = lint_in_time(trace)
    assert any(finding.code == "too-long-to-check" for finding in report.findings)


def test_docs_explain_every_code() -> None:
    text = (REPOSITORY / "docs" / "linter.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.+?) \|$", text, flags=re.MULTILINE)
    assert rows == [(code, info.severity, info.meaning) for code, info in CODES.items()]
