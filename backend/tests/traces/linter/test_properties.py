"""Properties of the linter for arbitrary texts and generated equations."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.linter.expressions import evaluate
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.linter.rationals import as_text, reduced
from tunix_rt.traces.linter.scanner import plain_text, tokenise
from tunix_rt.traces.types import Trace, trace_from_text_steps

NOTATION = "0123456789+-*/=()<>.,%$ \\{}^x½≈abc\n\"'frac"
TEXTS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=200),
    st.text(alphabet=NOTATION, min_size=1, max_size=200),
).filter(lambda text: bool(text.strip()))
NUMBERS = st.integers(min_value=0, max_value=10**6)
OPERATORS = st.sampled_from(["+", "-", "*", "/", "×", "÷", "x"])
UNITS = st.sampled_from(["", " apples", " red apples", " clips in May"])


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A readable calculation of two to four numbers, and its exact value."""
    values = draw(st.lists(NUMBERS, min_size=2, max_size=4))
    text, python = str(values[0]) + draw(UNITS), f"Fraction({values[0]})"
    for value in values[1:]:
        operator = draw(OPERATORS)
        value = max(value, 1)
        text += f" {operator} {value}{draw(UNITS)}"
        python += {"×": "*", "÷": "/", "x": "*"}.get(operator, operator) + f"Fraction({value})"
    return text, eval(python, {"Fraction": Fraction})


@given(prompt=TEXTS, steps=st.lists(TEXTS, min_size=1, max_size=5), answer=TEXTS)
@settings(max_examples=300, deadline=None)
def test_any_trace_has_valid_findings(prompt: str, steps: list[str], answer: str) -> None:
    trace = trace_from_text_steps(prompt, steps, answer)
    report = lint_trace(trace)
    assert 0 <= report.score <= 100
    for finding in report.findings:
        start, end = finding.span
        texts = [prompt, answer] if finding.step is None else [trace.steps[finding.step].content]
        assert finding.code in CODES
        assert 0 <= start <= end
        assert any(end <= len(text) and text[start:end].startswith(finding.found) for text in texts)


@given(equation=equations(), prefix=st.sampled_from(["", "So ", "She has ", "1. ", "Step 2: "]))
@settings(max_examples=300, deadline=None)
def test_correct_equation_is_confirmed(equation: tuple[str, Fraction], prefix: str) -> None:
    left, value = equation
    result = str(value) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    verdicts = [claim.verdict for claim in read_step(f"{prefix}{left} = {result}").claims]
    assert verdicts == ["confirmed"]


@given(equation=equations(), error=st.integers(min_value=-(10**6), max_value=10**6).filter(bool))
@settings(max_examples=300, deadline=None)
def test_wrong_equation_reports_expected_result(equation: tuple[str, Fraction], error: int) -> None:
    left, value = equation
    stated = value + error
    if value.denominator != 1:
        return
    claims = read_step(f"{left} = {stated}").claims
    assert [claim.verdict for claim in claims] == ["wrong"]
    assert claims[0].expected is not None
    assert reduced(claims[0].expected) == (value.numerator, value.denominator)


@given(numerator=st.integers(-(10**9), 10**9), denominator=st.integers(1, 10**4))
def test_number_text_round_trips(numerator: int, denominator: int) -> None:
    text = as_text((numerator, denominator))
    assert reduced(evaluate(tokenise(text)) or (0, 0)) == reduced((numerator, denominator))


@given(text=st.text(alphabet=NOTATION, max_size=300))
def test_plain_text_preserves_length(text: str) -> None:
    assert len(plain_text(text)) == len(text)


@given(trace=st.builds(trace_from_text_steps, TEXTS, st.lists(TEXTS, min_size=1, max_size=3), TEXTS))
@settings(max_examples=50, deadline=None)
def test_linting_is_deterministic(trace: Trace) -> None:
    assert lint_trace(trace) == lint_trace(trace)
