"""False alarms and recall on fractions, algebra and final answers outside the style of GSM8K."""

import random
from collections import Counter

import pytest
from support.algebra_texts import RIGHT_ONLY, TEXTS_PER_FAMILY, cases, is_flagged

from tunix_rt.traces.formats.solutions import split_solution, trace_from_solution
from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import trace_from_text_steps

MAX_FALSE_ALARMS = 0.01
MIN_FOUND = 0.95
CASES = cases()
FAMILIES = sorted({case.family for case in CASES})


@pytest.mark.parametrize("family", FAMILIES)
def test_right_texts_are_not_flagged(family: str) -> None:
    flagged = [case for case in CASES if case.family == family and case.is_right and is_flagged(case)]
    assert len(flagged) <= MAX_FALSE_ALARMS * TEXTS_PER_FAMILY, flagged[:3]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in RIGHT_ONLY])
def test_wrong_texts_are_found(family: str) -> None:
    missed = [case for case in CASES if case.family == family and not case.is_right and not is_flagged(case)]
    assert len(missed) <= (1 - MIN_FOUND) * TEXTS_PER_FAMILY, missed[:3]


RIGHT_SOLUTIONS = {
    "table of values": ["n = 1: 2n = 2", "n = 2: 2n = 4", "n = 3: 2n = 6"],
    "trial": ["We need 2x + 1 = 13.", "Try x = 5: 2 * 5 + 1 = 11.", "Try x = 6: 2 * 6 + 1 = 13."],
    "no solution": ["2x + 1 = 2x + 3", "1 = 3", "This is impossible."],
    "two meanings": ["Pens: 3x = 15, so x = 15/3 = 5.", "Cups: 4x = 12, so x = 3."],
    "quadratic formula": [r"$x = \frac{5 \pm 1}{2}$", "x = 3 or x = 2"],
    "rejected root": ["x² = 49", "x = 7 or x = -7", "A length is positive, so x = 7."],
    "indexes": ["x_1 = 2 and x_2 = 5", "x₁ + x₂ = 7"],
    "recursion": ["f(2) = f(1) + f(0)", "f(2) = 3 + 4 = 7"],
    "derivative": ["f(x) = x^2", "f'(x) = 2x", "f'(3) = 6"],
    "functions": ["gcd(12, 18) = 6", "max(3, 5 + 2) = 7", r"\log_2(8) = 3", r"\sqrt[3]{8} = 2", "∛27 = 3"],
    "products of letters": ["A = ½bh = ½·5·4 = 10", "V = 2xy = 2·3·4 = 24", r"2\pi rh = 2\pi(3)(5) = 30\pi"],
    "program": ["x = 5", "x = x * 2", "x = 10", "x = x + 1", "x = 11"],
    "inequalities": ["3 + 4 <= 8", "2x <= 10, so x <= 5 and x = 4 is allowed"],
    "equal word products": ["Tom's age + 5 = Jane's age + 3"],
    "zero": ["5x = 3x", "2x = 0"],
    "two conversions": ["1/4 = 25% and 3/8 = 37.5%", "6 / 3 = 2 and 3/4 = 0.75"],
    "units as letters": ["1m = 100cm", "2m = 2000mm"],
}


@pytest.mark.parametrize("steps", RIGHT_SOLUTIONS.values(), ids=RIGHT_SOLUTIONS)
def test_right_solution_is_not_flagged(steps: list[str]) -> None:
    findings = lint_trace(trace_from_text_steps("Solve the problem.", steps, "see above")).findings
    assert [finding for finding in findings if finding.code == "arithmetic-wrong"] == []


WRONG_SOLUTIONS = {
    "concluded": (["3x + 5 = 20, so 3x = 15", "So x = 6."], 1, "x = 5"),
    "transformed": (["3x + 5 = 20", "3x = 25", "x = 25/3"], 1, "x = 5"),
    "after an unfinished division": (["4m = 76", "m = 76/4", "m = 20"], 2, "m = 19"),
    "after other steps": (["5x = 40", "Both sides are divided by five.", "That gives x = 9."], 2, "x = 8"),
    "solving for x": (["2x + x = 57", "Solving for x, we get x = 29"], 1, "x = 19"),
}


@pytest.mark.parametrize(("steps", "step", "expected"), WRONG_SOLUTIONS.values(), ids=WRONG_SOLUTIONS)
def test_wrong_solution_names_the_value(steps: list[str], step: int, expected: str) -> None:
    findings = lint_trace(trace_from_text_steps("Solve the problem.", steps, "see above")).findings
    assert [(f.step, f.expected) for f in findings if f.code == "arithmetic-wrong"] == [(step, expected)]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("1/3 + 1/4 = 8/12", "wrong"),
        ("2/3 = 1/3", "wrong"),
        ("1/2 + 1/2 = 1/2", "wrong"),
        ("1/3 + 1/3 = 1", "wrong"),
        ("2/3 of 1/2 is 1/6", "wrong"),
        ("2/3 of 1/2 is 1/3", "confirmed"),
        ("3/4 ÷ 1/2 = 3/8", "wrong"),
        ("3/4 ÷ 1/2 = 3/2", "confirmed"),
        (r"2\frac{1}{3} + \frac{1}{3} = 2\frac{2}{3}", "confirmed"),
        (r"\frac12 + \frac13 = \frac25", "wrong"),
        ("7/12 ≈ 3/5", "confirmed"),
        ("7/12 ≈ 8/12", "wrong"),
        ("3e-3 * 2e-4 = 6e-6", "wrong"),
        ("3e-3 * 2e-4 = 6e-7", "confirmed"),
        ("1e5 / 3 = 3.33e4", "confirmed"),
        ("1e5 / 3 = 3.35e4", "wrong"),
        ("5 × 10⁻³ × 2 = 1 × 10⁻²", "confirmed"),
        ("10/3 + 1 = 3.33 + 1", "confirmed"),
        ("10/3 + 1 = 3.43 + 1", "wrong"),
        ("√16 = 4", "confirmed"),
        (r"\sqrt{9 + 16} = 7", "wrong"),
        ("√8 = 2√2", "confirmed"),
        ("√8 = 3√2", "wrong"),
        (r"\sqrt{2} \approx 1.414", "confirmed"),
        ("π * 6^2 = 36π", "confirmed"),
        (r"\pi(6)^2 = 38\pi", "wrong"),
        ("2 * π * 5 = 31.4", "confirmed"),
        ("3² + 4² = 24", "wrong"),
        (r"x^{2} \cdot x^{3} = 2x^{5}", "wrong"),
    ],
)
def test_claim_outside_whole_numbers(text: str, verdict: str) -> None:
    assert [claim.verdict for claim in read_step(text).claims] == [verdict]


ANSWER_FORMATS = {
    "hash": "{work}\n#### {answer}",
    "answer line": "{work}\nAnswer: {answer}",
    "tags": "<reasoning>\n{work}\n</reasoning>\n<answer>{answer}</answer>",
    "boxed": "{work}\n\\boxed{{{answer}}}",
    "boxed sentence": "{work}\nThe final answer is $\\boxed{{{answer}}}$.",
    "boxed under a heading": "{work}\n\n**Final Answer**\n\n\\boxed{{{answer}}}",
    "boxed after the work": "{work} So the total is \\boxed{{{answer}}}.",
    "answer sentence": "{work}\nThe answer is {answer}.",
    "answer sentence after the work": "{work} Therefore, the answer is {answer}.",
    "answer with a unit": "{work}\nSo the answer is {answer} rolls.",
    "think and number": "<think>\n{work}\n</think>\n{answer}",
    "think and answer sentence": "<think>\n{work}\n</think>\nThe answer is {answer}.",
    "think and sentence": "<think>\n{work}\n</think>\nThe baker has **{answer}** rolls left.",
    "last line": "{work}\nSo {answer} rolls are left in the end.",
}
NUM_ANSWERS = 60


@pytest.mark.parametrize("markup", ANSWER_FORMATS.values(), ids=ANSWER_FORMATS)
def test_wrong_answer_is_found_in_every_format(markup: str) -> None:
    rng = random.Random(14)
    counts: Counter[bool] = Counter()
    for _ in range(NUM_ANSWERS):
        boxes, size, sold = rng.randint(13, 30), rng.randint(13, 30), rng.randint(31, 99)
        prompt = (
            f"A baker fills {boxes} boxes with {size} rolls each and sells {sold} rolls. How many are left?"
        )
        made, left = boxes * size, boxes * size - sold
        work = (
            f"The boxes hold {boxes} * {size} = {made} rolls.\nThen {made} - {sold} = {left} rolls are left."
        )
        wrong = left + rng.choice((-10, -1, 1, 7, 9 * left))
        for is_right, answer in ((True, left), (False, wrong)):
            solution = split_solution(markup.format(work=work, answer=answer))
            findings = lint_trace(trace_from_solution(prompt, solution, {})).findings
            counts[is_right] += any(f.code in ("answer-mismatch", "answer-unsupported") for f in findings)
    assert counts[True] == 0
    assert counts[False] >= MIN_FOUND * NUM_ANSWERS


RIGHT_ANSWERS = {
    "computed in the box": ("48 + 24 = \\boxed{72}", "72"),
    "solved in the box": ("3x = 108, so $x = \\boxed{36}$", "36"),
    "derived in words": ("48 / 2 = 24\nAdding the 48 clips and the 24 clips gives \\boxed{72} clips.", "72"),
    "another unit word": ("4 * $3 = $12\nThe answer is 12 dollars.", "12 dollars"),
    "text in the box": ("5 + 3 = 8 and 4 + 3 = 7\nSo \\boxed{\\text{Tom}} has more.", "\\text{Tom}"),
    "yes": ("5 + 3 = 8\nThe answer is yes.", "yes"),
    "fraction": (
        r"\frac{1}{3} + \frac{1}{4} = \frac{7}{12}" + "\nThe answer is \\boxed{\\frac{7}{12}}.",
        r"\frac{7}{12}",
    ),
    "multiple of pi": ("The area is π * 6^2 = 36π.\nThe answer is $36\\pi$.", "36\\pi"),
}


@pytest.mark.parametrize(("solution", "answer"), RIGHT_ANSWERS.values(), ids=RIGHT_ANSWERS)
def test_right_answer_statement_is_accepted(solution: str, answer: str) -> None:
    trace = trace_from_text_steps("Solve the problem with 48 clips.", solution.split("\n"), answer)
    assert [finding for finding in lint_trace(trace).findings if finding.code.startswith("answer-")] == []
