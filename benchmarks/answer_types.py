"""Compares the checkers with math-verify on answers whose truth is known by construction.

The truth of a case comes from neither checker: expressions are Python functions evaluated at random points,
equations are sets of solutions, lists and intervals are Python values, units have exact factors.

    python -m benchmarks.answer_types [--seed 0] [--show] [--json]

Exits with 1 unless the checkers have fewer false accepts and fewer false rejects than math-verify.
"""

import argparse
import cmath
import json
import logging
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import check

NUM_POINTS = 7
TOLERANCE = 1e-9
ROUNDS = 4
"""How many cases of every template are made."""


class Case(NamedTuple):
    """An expected answer, a given one, and whether they mean the same."""

    form: str
    expected: str
    answer: str
    is_right: bool


def main() -> int:
    """Judge every case twice, and print both counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the numbers in the cases")
    parser.add_argument("--show", action="store_true", help="print the cases that one of them gets wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    report = measure(arguments.seed, is_shown=arguments.show)
    print(json.dumps(report) if arguments.json else as_text(report))
    return 0 if report["passed"] else 1


def measure(seed: int, *, is_shown: bool = False) -> dict[str, Any]:
    """Both checkers on all cases: how many wrong answers they accept, how many right ones they reject."""
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    cases = make_cases(seed)
    counts: Counter[str] = Counter()
    by_form: dict[str, Counter[str]] = {}
    for case in cases:
        verdicts = {"ours": ours(case), "math_verify": theirs(case)}
        form = by_form.setdefault(case.form, Counter())
        form["n"] += 1
        for name, verdict in verdicts.items():
            if verdict is not case.is_right:
                kind = f"{name}_false_{'rejects' if case.is_right else 'accepts'}"
                counts[kind] += 1
                form[kind] += 1
                if is_shown:
                    print(f"{kind:26} {case.form:12} expected {case.expected!r}, given {case.answer!r}")
    kinds = ("false_accepts", "false_rejects")
    return {
        "num_cases": len(cases),
        "num_right": sum(case.is_right for case in cases),
        **{f"{name}_{kind}": counts[f"{name}_{kind}"] for name in ("ours", "math_verify") for kind in kinds},
        "by_form": {name: dict(form) for name, form in by_form.items()},
        "passed": all(counts[f"ours_{kind}"] < counts[f"math_verify_{kind}"] for kind in kinds),
    }


def ours(case: Case) -> bool:
    """The verdict of the checker that the form of the expected answer chooses."""
    item = EvalItem(
        id="case",
        prompt="What is it?",
        expected_answer=case.expected,
        section="core",
        category="cases",
        difficulty="easy",
    )
    return check(item, case.answer).is_right is True


def theirs(case: Case) -> bool:
    """The verdict of math-verify, with both texts in dollar signs, as it asks for."""
    from math_verify import parse, verify

    gold, answer = (
        parse(text if "$" in text else f"${text}$", parsing_timeout=None)
        for text in (case.expected, case.answer)
    )
    return bool(gold) and bool(answer) and verify(gold, answer, timeout_seconds=None)


def as_text(report: dict[str, Any]) -> str:
    """The figures for a person."""
    lines = [
        f"{report['num_cases']} cases, {report['num_right']} right",
        f"{'':14}{'false accepts':>14}{'false rejects':>14}",
    ]
    lines += [
        f"{name:14}{report[f'{name}_false_accepts']:>14}{report[f'{name}_false_rejects']:>14}"
        for name in ("ours", "math_verify")
    ]
    return "\n".join(lines)


def make_cases(seed: int) -> list[Case]:
    """All cases, without repetitions, in a fixed order."""
    rng = random.Random(seed)
    cases = []
    for _ in range(ROUNDS):
        for make in (
            _expressions, _constants, _equations, _inequalities, _collections, _units, _bases, _percentages,
            _numbers, _choices, _words,
        ):  # fmt: skip
            cases.extend(make(rng))
    return list(dict.fromkeys(cases))


def _compared(form: str, expected: tuple[str, str], answers: Sequence[tuple[str, str]]) -> Iterator[Case]:
    """Cases whose truth is the equality of two Python expressions at random points."""
    gold, gold_code = expected
    for answer, code in answers:
        yield Case(form, gold, answer, _is_same_function(gold_code, code))


def _is_same_function(one: str, other: str) -> bool:
    rng = random.Random(1)
    points = [{name: rng.uniform(0.3, 2.5) for name in "abcdmnpqrtuvwxyzXN"} for _ in range(NUM_POINTS)]
    return all(cmath.isclose(_run(one, point), _run(other, point), rel_tol=TOLERANCE) for point in points)


def _run(code: str, point: dict[str, float]) -> complex:
    names: dict[str, Any] = {
        "sqrt": cmath.sqrt, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp,
        "log": cmath.log, "comb": math.comb, "pi": math.pi, "I": 1j,
    }  # fmt: skip
    return complex(eval(code, {"__builtins__": {}}, names | point))


def _expressions(rng: random.Random) -> Iterator[Case]:
    a, b, c = rng.sample(range(2, 10), 3)
    yield from _compared("expression", ("p - q", "p-q"), [
        ("-q + p", "p-q"), ("p-q", "p-q"), ("-(q - p)", "p-q"), ("q - p", "q-p"), ("p + q", "p+q"),
        ("pq", "p*q"),
        ("p - r", "p-r"), ("$p-q$", "p-q"),
    ])  # fmt: skip
    yield from _compared("expression", (f"{a}x+{b}", f"{a}*x+{b}"), [
        (f"{b} + {a}x", f"{a}*x+{b}"), (f"{a}*x + {b}", f"{a}*x+{b}"), (f"${a}x+{b}$", f"{a}*x+{b}"),
        (f"{b}x+{a}", f"{b}*x+{a}"), (f"{a}x-{b}", f"{a}*x-{b}"), (f"{a}y+{b}", f"{a}*y+{b}"),
        (f"{a}X+{b}", f"{a}*X+{b}"), (f"{a}(x+{b})", f"{a}*(x+{b})"),
        (f"\\frac{{{2 * a}x+{2 * b}}}{{2}}", f"{a}*x+{b}"),
        (f"{a}.0x+{b}", f"{a}*x+{b}"), (f"{a}.001x+{b}", f"{a}.001*x+{b}"),
        (f"x\\cdot {a} + {b}", f"{a}*x+{b}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"(x+{a})(x-{b})", f"(x+{a})*(x-{b})"), [
        (f"x^2+{a - b}x-{a * b}".replace("+-", "-"), f"(x+{a})*(x-{b})"),
        (f"(x-{b})(x+{a})", f"(x+{a})*(x-{b})"),
        (f"(x-{a})(x+{b})", f"(x-{a})*(x+{b})"), (f"x^2-{a * b}", f"x*x-{a * b}"),
        (f"(x+{a})*(x-{b})", f"(x+{a})*(x-{b})"),
        (f"x**2 + {a}*x - {b}*x - {a * b}", f"(x+{a})*(x-{b})"), (f"(x+{a})x-{b}", f"(x+{a})*x-{b}"),
        (f"(-x-{a})({b}-x)", f"(x+{a})*(x-{b})"),
    ])  # fmt: skip
    yield from _compared("expression", (f"n(n+{a})/2", f"n*(n+{a})/2"), [
        (f"\\frac{{n(n+{a})}}{{2}}", f"n*(n+{a})/2"), (f"(n^2+{a}n)/2", f"n*(n+{a})/2"),
        (f"n^2/2+{a}n/2", f"n*(n+{a})/2"),
        (f"n(n-{a})/2", f"n*(n-{a})/2"), (f"n^2+{a}n/2", f"n*n+{a}*n/2"), (f"0.5n(n+{a})", f"n*(n+{a})/2"),
        (f"n(n+{a})", f"n*(n+{a})"), (f"N(N+{a})/2", f"N*(N+{a})/2"),
    ])  # fmt: skip
    yield from _compared("expression", (f"{a}sin(x)", f"{a}*sin(x)"), [
        (f"{a}\\sin x", f"{a}*sin(x)"), (f"{a}\\sin(x)", f"{a}*sin(x)"), (f"sin(x)*{a}", f"{a}*sin(x)"),
        (f"\\sin {a}x", f"sin({a}*x)"), (f"{a}\\cos x", f"{a}*cos(x)"), (f"{a}sin x", f"{a}*sin(x)"),
        (f"\\sin(x) + {a}", f"sin(x)+{a}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"x^2+{b}", f"x*x+{b}"), [
        (f"{b}+x^{{2}}", f"x*x+{b}"), (f"x*x+{b}", f"x*x+{b}"), (f"x²+{b}", f"x*x+{b}"),
        (f"2x+{b}", f"2*x+{b}"),
        (f"(x+{b})^2", f"(x+{b})**2"), (f"x^3+{b}", f"x**3+{b}"), (f"x_2+{b}", f"y+{b}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"\\frac{{x+{a}}}{{{b}}}", f"(x+{a})/{b}"), [
        (f"(x+{a})/{b}", f"(x+{a})/{b}"), (f"x+{a}/{b}", f"x+{a}/{b}"),
        (f"\\frac{{x}}{{{b}}}+\\frac{{{a}}}{{{b}}}", f"(x+{a})/{b}"),
        (f"\\frac{{{b}}}{{x+{a}}}", f"{b}/(x+{a})"), (f"x/{b} + {a}/{b}", f"(x+{a})/{b}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"{c}ab + {a}", f"{c}*a*b+{a}"), [
        (f"{a} + {c}ba", f"{c}*a*b+{a}"), (f"{c}*a*b+{a}", f"{c}*a*b+{a}"), (f"{c}a+b+{a}", f"{c}*a+b+{a}"),
        (f"{c}a\\cdot b + {a}", f"{c}*a*b+{a}"), (f"{c}ac + {a}", f"{c}*a*c+{a}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"{a}t - {b}m", f"{a}*t-{b}*m"), [
        (f"-{b}m + {a}t", f"{a}*t-{b}*m"), (f"{a}t", f"{a}*t"), (f"{a}t - {b}", f"{a}*t-{b}"),
        (f"{a} - {b}", f"{a}-{b}"),
    ])  # fmt: skip
    yield from _compared("expression", (f"e^{{{a}x}}", f"exp({a}*x)"), [
        (f"exp({a}x)", f"exp({a}*x)"), (f"(e^x)^{a}", f"exp({a}*x)"), (f"e^{a}x", f"exp({a})*x"),
        (f"{a}e^x", f"{a}*exp(x)"),
        (f"e^({a}x)", f"exp({a}*x)"),
    ])  # fmt: skip


def _constants(rng: random.Random) -> Iterator[Case]:
    a, b, c = rng.sample(range(2, 9), 3)
    n, k = rng.randint(5, 9), rng.randint(2, 4)
    yield from _compared("constant", (f"\\binom{{{n}}}{{{k}}}", f"comb({n},{k})"), [
        (str(math.comb(n, k)), f"comb({n},{k})"), (f"\\binom{{{n}}}{{{n - k}}}", f"comb({n},{k})"),
        (f"\\frac{{{n}}}{{{k}}}", f"{n}/{k}"),
        (str(math.comb(n, k) + 1), f"comb({n},{k})+1"), (f"\\binom{{{k}}}{{{n}}}", "0"),
        (f"{n}/{k}", f"{n}/{k}"),
        (f"\\frac{{{n}!}}{{{k}!{n - k}!}}", f"comb({n},{k})"), (f"\\dbinom{{{n}}}{{{k}}}", f"comb({n},{k})"),
    ])  # fmt: skip
    root = 2 * a * a
    yield from _compared("constant", (f"{a}\\sqrt{{2}}", f"{a}*sqrt(2)"), [
        (f"\\sqrt{{{root}}}", f"{a}*sqrt(2)"), (f"{a}*sqrt(2)", f"{a}*sqrt(2)"), (f"{a}√2", f"{a}*sqrt(2)"),
        (f"\\frac{{{2 * a}}}{{\\sqrt{{2}}}}", f"{a}*sqrt(2)"), (f"{a * math.sqrt(2):.4f}", "0"),
        (f"{a * math.sqrt(2):.9f}", "0"),
        (f"\\sqrt{{{root + 1}}}", f"sqrt({root + 1})"), (f"\\sqrt{{{a}}}\\cdot 2", f"sqrt({a})*2"),
        (f"{a} sqrt 2", f"{a}*sqrt(2)"),
        (f"{a}+\\sqrt{{2}}", f"{a}+sqrt(2)"), (f"{a}\\sqrt[3]{{2}}", f"{a}*2**(1/3)"),
    ])  # fmt: skip
    yield from _compared("constant", (f"{b}\\pi", f"{b}*pi"), [
        (f"{b}pi", f"{b}*pi"), (f"\\pi \\cdot {b}", f"{b}*pi"), (f"{b}π", f"{b}*pi"),
        (f"{b * math.pi:.6f}", "0"), (f"{b}", f"{b}"),
        (f"{b * math.pi:.2f}", "0"), (f"{b}\\pi^2", f"{b}*pi*pi"), (f"\\frac{{{2 * b}\\pi}}{{2}}", f"{b}*pi"),
    ])  # fmt: skip
    yield from _compared("constant", (f"{a}+{b}i", f"{a}+{b}*I"), [
        (f"{b}i + {a}", f"{a}+{b}*I"), (f"{a}-{b}i", f"{a}-{b}*I"), (f"{b}+{a}i", f"{b}+{a}*I"),
        (f"{a} + {b}*i", f"{a}+{b}*I"),
        (f"{a}+{b}", f"{a}+{b}"), (f"{a}+{b}\\sqrt{{-1}}", f"{a}+{b}*I"),
    ])  # fmt: skip
    yield from _compared("constant", (f"{a}^{{{c}}}", f"{a}**{c}"), [
        (f"{a**c}", f"{a}**{c}"), (f"{a}^{c}", f"{a}**{c}"), (f"{a * c}", f"{a}*{c}"),
        (f"{c}^{a}", f"{c}**{a}"), (f"{a}**{c}", f"{a}**{c}"),
    ])  # fmt: skip
    yield from _compared("constant", ("\\log_{2} 8", "3"), [
        (str(b), str(b)), ("3", "3"), ("\\frac{\\ln 8}{\\ln 2}", "3"), ("\\log_8 2", "1/3"),
        ("\\log 8 - \\log 2", "log(4)"),
    ])  # fmt: skip
    yield from _compared("constant", ("\\sin 30^\\circ + \\sqrt{3}", "0.5+sqrt(3)"), [
        ("\\frac{1}{2}+\\sqrt{3}", "0.5+sqrt(3)"), ("\\sin 30 + \\sqrt{3}", "sin(30)+sqrt(3)"),
        ("2.232", "2.232"),
        ("\\cos 60^\\circ+\\sqrt{3}", "0.5+sqrt(3)"),
    ])  # fmt: skip


def _equations(rng: random.Random) -> Iterator[Case]:
    a, b = rng.sample(range(2, 10), 2)
    form = "equation"
    solution = [
        (str(a), True), (f"x = {a}", True), (f"{a} = x", True), (f"x = {a * b}/{b}", True),
        (f"x={a}.0", True), (f"$x={a}$", True),
        (f"y = {a}", False), (f"x = {b}", False), (f"x = -{a}", False), (f"x = {a}, {b}", False),
        (f"x > {a}", False),
        (f"x \\neq {a}", False), (f"x = {a} or x = {b}", False), (f"x = \\pm {a}", False),
        (f"x^2 = {a}", False),
    ]  # fmt: skip
    yield from (Case(form, f"x={a}", answer, right) for answer, right in solution)
    line = [
        (f"y = {b} + {a}x", True), (f"{a}x + {b} = y", True), (f"{a}x - y + {b} = 0", True),
        (f"y - {b} = {a}x", True),
        (f"{a}x + {b}", True), (f"y = {a}x - {b}", False), (f"y = {b}x + {a}", False),
        (f"x = {a}y + {b}", False),
        (f"z = {a}x + {b}", False), (f"2y = {a}x + {b}", False), (f"y > {a}x + {b}", False),
        (f"2y = {2 * a}x + {2 * b}", True),
    ]  # fmt: skip
    yield from (Case(form, f"y = {a}x + {b}", answer, right) for answer, right in line)
    circle = [
        (f"{a * a} = x^2 + y^2", True), (f"x^2+y^2-{a * a}=0", True), (f"2x^2+2y^2={2 * a * a}", True),
        (f"y^2 + x^2 = {a}^2", True),
        (f"x^2 + y^2 = {a}", False), (f"x^2 - y^2 = {a * a}", False), (f"x^2 + z^2 = {a * a}", False),
        (str(a * a), False),
    ]  # fmt: skip
    yield from (Case(form, f"x^2+y^2={a * a}", answer, right) for answer, right in circle)
    both = [
        (f"x = {b} or x = {a}", True), (f"{a}, {b}", True), (f"x = {a}, {b}", True),
        (f"\\{{{a}, {b}\\}}", True),
        (f"x = {a} \\text{{ or }} x = {b}", True), (f"x = {a}", False), (f"x = {a}, x = {b + 1}", False),
        (f"{a} and {b}", True),
    ]  # fmt: skip
    yield from (Case(form, f"x={a} or x={b}", answer, right) for answer, right in both)
    pair = [
        (f"y = {b}, x = {a}", True), (f"x={a} and y={b}", True), (f"x = {b}, y = {a}", False),
        (f"x = {a}", False),
        (f"x = {a}, z = {b}", False),
    ]  # fmt: skip
    yield from (Case(form, f"x = {a}, y = {b}", answer, right) for answer, right in pair)
    impossible = [
        (f"x^2 + {a} = 0", True),
        (f"{a} + x^2 = 0", True),
        (f"x^2 + {b} = 0", False),
        (f"x^2 - {a} = 0", False),
    ]
    yield from (Case(form, f"x^2+{a}=0", answer, right) for answer, right in impossible)
    function = [
        (f"f(x) = {b} + {a}x", True),
        (f"{a}x + {b}", True),
        (f"f(x) = {a}x - {b}", False),
        (f"g(x) = {a}x + {b}", False),
    ]
    yield from (Case(form, f"f(x) = {a}x + {b}", answer, right) for answer, right in function)


def _inequalities(rng: random.Random) -> Iterator[Case]:
    a = rng.randint(2, 5)
    b = a + rng.randint(1, 5)
    form = "inequality"
    one = [
        (f"{a} < x", True), (f"x>{a}", True), (f"(\\infty, {a})", False), (f"({a}, \\infty)", True),
        (f"2x > {2 * a}", True),
        (f"x \\ge {a}", False), (f"x < {a}", False), (f"y > {a}", False), (f"[{a}, \\infty)", False),
        (f"-x < -{a}", True),
        (f"x > {b}", False), (f"x = {a}", False), (f"-x > -{a}", False),
    ]  # fmt: skip
    yield from (Case(form, f"x > {a}", answer, right) for answer, right in one)
    chain = [
        (f"{b} > x > {a}", True), (f"{a}<x<{b}", True), (f"({a}, {b})", True), (f"{a} \\le x < {b}", False),
        (f"[{a}, {b})", False),
        (f"x > {a} and x < {b}", True), (f"{a} < y < {b}", False), (f"x \\in ({a}, {b})", True),
        (f"{b} < x < {a}", False),
    ]  # fmt: skip
    yield from (Case(form, f"{a} < x < {b}", answer, right) for answer, right in chain)
    interval = [
        (f"[{a}, {b})", True), (f"[{a},{2 * b}/2)", True), (f"[{a}, {b}]", False), (f"({a}, {b})", False),
        (f"({a}, {b}]", False),
        (f"{a} \\le x < {b}", True), (f"{a} < x < {b}", False), (f"\\left[{a}, {b}\\right)", True),
        (f"x \\in [{a}, {b})", True),
        (f"[{b}, {a})", False), (f"\\{{{a}, {b}\\}}", False),
    ]  # fmt: skip
    yield from (Case(form, f"[{a}, {b})", answer, right) for answer, right in interval)
    union = [
        (f"({b}, \\infty) \\cup (-\\infty, {a})", True), (f"x < {a} or x > {b}", True),
        (f"(-\\infty, {a}] \\cup ({b}, \\infty)", False),
        (f"(-\\infty, {a})", False), (f"({a}, {b})", False), (f"(-\\infty,{a})\\cup({b},\\infty)", True),
    ]  # fmt: skip
    yield from (Case(form, f"(-\\infty, {a}) \\cup ({b}, \\infty)", answer, right) for answer, right in union)


def _collections(rng: random.Random) -> Iterator[Case]:
    """Without brackets and in braces the order is free; in round brackets it counts."""
    a, b, c = rng.sample(range(2, 20), 3)
    form = "collection"
    free = [
        (f"{c}, {b}, {a}", True), (f"{a}, {b}, {c}", True), (f"\\{{{b}, {a}, {c}\\}}", True),
        (f"{a}, {b} and {c}", True),
        (f"{a}.0,{b},{c}", True), (f"{a};{b};{c}", True), (f"{a}, {b}", False),
        (f"{a}, {b}, {c}, {c + 20}", False), (f"{a},{b},{c + 1}", False),
        (f"{a},{b},-{c}", False), (f"{a}+{b}+{c}", False), (f"${a}, {b}, {c}$", True),
        (f"{a}, {a}, {b}", False),
    ]  # fmt: skip
    yield from (Case(form, f"{a},{b},{c}", answer, right) for answer, right in free)
    point = [
        (f"({a}, {b})", True), (f"({a},{b})", True), (f"({b}, {a})", False), (f"({a}, {b}, {c})", False),
        (f"({a}, {b}.0)", True),
        (f"\\left({a}, {b}\\right)", True), (f"\\{{{a}, {b}\\}}", False), (f"[{a}, {b}]", False),
        (f"(x, y) = ({a}, {b})", True),
        (f"({a}, {c})", False), (f"(\\frac{{{2 * a}}}{{2}}, {b})", True),
    ]  # fmt: skip
    yield from (Case(form, f"({a}, {b})", answer, right) for answer, right in point)
    braces = [
        (f"\\{{{b}, {a}\\}}", True), (f"\\{{{a}\\}}", False), (f"({a}, {b})", False), (f"{a}, {b}", True),
        (f"\\{{{a}, {c}\\}}", False),
        (f"\\{{{a}, {2 * b}/2\\}}", True), (f"[{a}, {b}]", False),
    ]  # fmt: skip
    yield from (Case(form, f"\\{{{a}, {b}\\}}", answer, right) for answer, right in braces)
    terms = [
        (f"{b}y, {a}x", True), (f"x*{a}, {b}y", True), (f"{a}y, {b}x", False), (f"{a}x", False),
        (f"{a}x + {b}y", False),
    ]  # fmt: skip
    yield from (Case(form, f"{a}x, {b}y", answer, right) for answer, right in terms)
    points = [(f"({c}, {a}), ({a}, {b})", True), (f"({b}, {a}), ({c}, {a})", False), (f"({a}, {b})", False)]
    yield from (Case(form, f"({a}, {b}), ({c}, {a})", answer, right) for answer, right in points)


# Name, LaTeX name, dimension, size in the base unit.
_UNITS: Sequence[tuple[str, str, str, Fraction]] = (
    ("miles", "\\text{ miles}", "length", Fraction(1609344, 1000)),
    ("km", "\\text{ km}", "length", Fraction(1000)),
    ("m", "\\text{ m}", "length", Fraction(1)),
    ("cm", "\\text{ cm}", "length", Fraction(1, 100)),
    ("kg", "\\text{ kg}", "mass", Fraction(1000)),
    ("grams", "\\text{ grams}", "mass", Fraction(1)),
    ("hours", "\\text{ hours}", "time", Fraction(3600)),
    ("minutes", "\\text{ minutes}", "time", Fraction(60)),
)


def _units(rng: random.Random) -> Iterator[Case]:
    for _ in range(4):
        value = rng.randint(2, 60)
        unit, other = rng.sample(_UNITS, 2)
        for answer_unit, factor in ((unit, Fraction(1)), (other, Fraction(1)), (other, unit[3] / other[3])):
            given = value * factor
            if given.denominator not in (1, 2, 5, 10, 100):
                continue
            amount = f"{float(given):.12g}"
            is_right = unit[2] == answer_unit[2] and value * unit[3] == given * answer_unit[3]
            yield Case("unit", f"{value} {unit[0]}", f"{amount} {answer_unit[0]}", is_right)
            yield Case("unit", f"{value}{unit[1]}", f"{amount}{answer_unit[1]}", is_right)
            is_same = unit[2] == answer_unit[2] and factor * answer_unit[3] == unit[3]
            multiple = "" if factor == 1 else f"{float(factor):.12g} \\cdot "
            if factor.denominator in (1, 10, 100):
                yield Case(
                    "unit",
                    f"{value}\\sqrt{{3}}{unit[1]}",
                    f"{multiple}{value}\\sqrt{{3}}{answer_unit[1]}",
                    is_same,
                )
        yield Case("unit", f"{value} {unit[0]}", f"{value + 1} {unit[0]}", False)


def _bases(rng: random.Random) -> Iterator[Case]:
    base = rng.randint(5, 9)
    digits = "".join(str(rng.randrange(1, base)) for _ in range(4))
    value = int(digits, base)
    for other in (base, base + 1, base - 1, 10):
        yield Case("base", f"{digits}_{base}", f"{digits}_{{{other}}}", other == base)
        yield Case("base", f"{digits}_{{{base}}}", f"{digits}_{other}", other == base)
    yield Case("base", f"{digits}_{base}", f"{digits} base {base}", True)
    yield Case("base", f"{digits}_{base}", f"${digits}_{{{base}}}$", True)
    yield Case("base", f"{digits}_{base}", f"{digits[::-1]}_{base}", digits == digits[::-1])
    yield Case("base", f"{digits}_{base}", str(value), False)


def _percentages(rng: random.Random) -> Iterator[Case]:
    """A percent sign in the expected answer makes percent the unit; without one, it is a hundredth."""
    percent = rng.choice([5, 10, 12, 25, 40, 75])
    share = Fraction(percent, 100)
    yield Case("percent", f"{percent}%", f"{percent} %", True)
    yield Case("percent", f"{percent}%", f"{percent}\\%", True)
    yield Case("percent", f"{percent}\\%", f"{percent}%", True)
    yield Case("percent", f"{percent}%", f"{float(share):g}", False)
    yield Case("percent", f"{percent}%", f"{float(share):g}%", False)
    yield Case("percent", f"{percent}", f"{percent}%", False)
    yield Case("percent", f"{percent}%", f"{percent + 1}%", False)


def _numbers(rng: random.Random) -> Iterator[Case]:
    for _ in range(3):
        top, bottom = rng.randint(1, 20), rng.choice([2, 3, 4, 6, 7, 8])
        value = Fraction(top, bottom)
        spellings = [
            (f"{3 * top}/{3 * bottom}", True), (f"\\frac{{{top}}}{{{bottom}}}", True),
            (f"\\dfrac{{{top}}}{{{bottom}}}", True),
            (f"{bottom}/{top}", bottom == top), (f"{top}/{bottom + 1}", False), (f"-{top}/{bottom}", False),
            (f"{float(value):.7f}", Fraction(f"{float(value):.7f}") == value),
            (f"{float(value):.2f}", Fraction(f"{float(value):.2f}") == value),
        ]  # fmt: skip
        yield from (Case("number", f"{top}/{bottom}", answer, right) for answer, right in spellings)
    amount = rng.randint(1000, 99999)
    grouped = [
        (f"{amount:,}", True), (f"${amount:,}$", True), (f"{amount}.0", True), (f"\\boxed{{{amount}}}", True),
        (f"{amount // 10}", False),
        (f"{amount}.5", False), (f"{amount + 1:,}", False), (f"-{amount}", False),
        (f"{amount:,}".replace(",", "{,}"), True), (f"{amount} eggs", True), (f"\\${amount}", True),
    ]  # fmt: skip
    yield from (Case("number", str(amount), answer, right) for answer, right in grouped)


def _choices(rng: random.Random) -> Iterator[Case]:
    letter, other = rng.sample("ABCDE", 2)
    for expected in (f"\\text{{({letter})}}", f"\\textbf{{({letter})}}"):
        for given in (letter, other):
            for answer in (
                given,
                f"({given})",
                f"\\text{{({given})}}",
                f"\\text{{{given}}}",
                f"\\textbf{{({given})}}",
                given.lower(),
            ):
                yield Case("choice", expected, answer, given == letter)
        yield Case("choice", expected, f"{letter} or {other}", False)


def _words(rng: random.Random) -> Iterator[Case]:
    words = rng.sample(
        [
            "yes",
            "no",
            "apples",
            "blue whale",
            "Paris",
            "Monday",
            "north",
            "silver",
            "Ann",
            "odd",
            "even",
            "A",
            "K",
        ],
        4,
    )
    for word in words[:3]:
        yield Case("word", word, word, True)
        yield Case("word", word, f"\\text{{{word}}}", True)
        yield Case("word", word, words[3], False)
        yield Case("word", word, word[::-1], word == word[::-1])


if __name__ == "__main__":
    sys.exit(main())
