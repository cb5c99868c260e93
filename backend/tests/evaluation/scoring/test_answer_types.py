"""Expected answers in plain notation: which of them are mathematics, and which answers equal them."""

import pytest
from benchmarks.answer_types import Case, make_cases, ours

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import check, form_of, unreadable_answer


def make_item(expected_answer: str) -> EvalItem:
    return EvalItem(
        id="q",
        prompt="What is it?",
        expected_answer=expected_answer,
        section="core",
        category="cases",
        difficulty="easy",
    )


@pytest.mark.parametrize("form", sorted({case.form for case in make_cases(1)}))
def test_generated_cases_get_their_constructed_verdict(form: str) -> None:
    wrong = [case for case in make_cases(1) if case.form == form and ours(case) is not case.is_right]
    assert wrong == []


@pytest.mark.parametrize(
    "expected",
    [
        "p - q", "p-q", "3x+2", "(x+1)(x-1)", "x=5", "1,2,3", "-2, 3", "1/2, 3/4", "(1,2)",
        "\\binom{5}{2}", "2516_9", "mx+b", "2xy", "ab+cd", "n(n+1)/2", "a/b", "1/x", "-x", "3+4i",
        "x=1 or x=2", "x = 2, y = 3", "1 < x < 2", "f(x) = 2x+1", "|x-1|", "sin x", "ln 2", "pi/2",
        "x_1 + x_2", "2*3+1", "(1,2), (3,4)", "x \\le 3",
    ],
)  # fmt: skip
def test_an_expression_or_equation_is_mathematics(expected: str) -> None:
    assert form_of(expected) == "math"
    assert unreadable_answer(make_item(expected)) is None


@pytest.mark.parametrize(
    "expected",
    [
        "yes", "apples", "blue whale", "x", "A", "ab", "AB", "A+", "B-", "C++", "A-B", "A/B", "n/a", "w/o",
        "2nd", "1st", "5th", "7pm", "CO2", "H2O", "12:30", "3:2", "3-2", "10-12", "555-1234", "1.2.3",
        "a, b", "A, B, C", "x-ray", "T-shirt", "he/she", "tan", "beta", "log cabin", "p-value", "F-16",
        "A4", "2x2", "Q&A", "me + you", "AB+", "\\text{yes}", "x y", "f(x)", "cat", "i", "deepBlueSea",
        "C:\\Users", "no solution", "18 eggs",
    ],
)  # fmt: skip
def test_a_word_a_name_or_a_code_stays_text(expected: str) -> None:
    assert form_of(expected) == "text"


@pytest.mark.parametrize(
    ("expected", "form"), [("5 miles", "quantity"), ("\\text{(C)}", "choice"), ("10%", "number")]
)
def test_units_options_and_percentages_keep_their_checkers(expected: str, form: str) -> None:
    assert form_of(expected) == form


@pytest.mark.parametrize(
    "case",
    [
        Case("solution", "x=5", "2x + 3 = 13", False),
        Case("solution", "x=5", "x = 5 or 6", False),
        Case("identity", "\\sqrt{x^2}", "x", False),
        Case("identity", "\\ln(x^2)", "2\\ln x", True),
        Case("identity", "x=x", "y=y", True),
        Case("approximation", "\\sqrt{2}", "1.41421356237309504880168872420969807856967187537694", False),
        Case("hedge", "1,2", "1 or 2", False),
        Case("hedge", "3x+2", "not 3x+2", False),
        Case("hedge", "3x+2", "The answer is $3x+2$.", True),
        Case("hedge", "3x+2", "It is not $3x+2$.", False),
        Case("unit", "2\\sqrt{3}\\text{ m}", "200\\sqrt{3} cm", True),
        Case("unit", "2\\sqrt{3}\\text{ m}", "2\\sqrt{3}", True),
        Case("unit", "\\frac{\\pi}{2}", "90^\\circ", False),
        Case("set", "{1, 2}", "(1, 2)", False),
        Case("set", "\\{1, 2\\}", "\\{2, 1, 1\\}", True),
        Case("function", "cos(2x)", "2cos(x)", False),
        Case("function", "2", "sqrt(2)", False),
        Case("function", "2", "log 2", False),
        Case("function", "2", "2 sin x", False),
        Case("function", "2", "2 pi", False),
        Case("function", "16", "the square root of 16", False),
        Case("function", "3", "3 tan shirts", True),
        Case("function", "2", "2 logs", True),
        Case("names", "a = 3, b = 4", "3, 4", True),
        Case("names", "a = 3, b = 4", "4, 3", False),
        Case("names", "(2, 3)", "y=2, x=3", False),
        Case("names", "A = lw", "A = wl", True),
        Case("set", "\\emptyset", "\\{\\}", True),
        Case("size", "3x+2", "x" + "+1" * 240, False),
        Case("size", "n!/2", "9999!/2", False),
    ],
)  # fmt: skip
def test_near_misses(case: Case) -> None:
    assert check(make_item(case.expected), case.answer).is_right is case.is_right
