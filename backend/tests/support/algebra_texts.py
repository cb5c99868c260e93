"""Seeded right and wrong texts about fractions and algebra, to measure false alarms and recall.

    python -m support.algebra_texts (in backend/tests)

prints the figures by family: how many right texts are flagged, and how many wrong ones are found.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import trace_from_text_steps

SEED = 12
TEXTS_PER_FAMILY = 100


class Case(NamedTuple):
    """One text of a family; `is_right` says whether every statement in it is true."""

    family: str
    steps: tuple[str, ...]
    is_right: bool


Family = Callable[[random.Random, bool], Sequence[str]]
"""Writes the steps of a text; the flag asks for a right one."""


def cases(num_texts: int = TEXTS_PER_FAMILY, seed: int = SEED) -> list[Case]:
    """The texts of every family: `num_texts` right ones, and as many wrong ones where the family has them."""
    made = []
    for name, family in FAMILIES.items():
        for is_right in (True, False) if name not in RIGHT_ONLY else (True,):
            rng = random.Random(f"{seed} {name} {is_right}")
            made += [Case(name, tuple(family(rng, is_right)), is_right) for _ in range(num_texts)]
    return made


def is_flagged(case: Case) -> bool:
    """Whether the linter reports wrong arithmetic in the text."""
    trace = trace_from_text_steps("Solve the problem.", list(case.steps), "see above")
    return any(finding.code == "arithmetic-wrong" for finding in lint_trace(trace).findings)


def _fraction(rng: random.Random) -> Fraction:
    bottom = rng.randint(2, 12)
    return Fraction(rng.randint(1, bottom - 1), bottom)


def _plain(value: Fraction) -> str:
    return str(value)


def _latex(value: Fraction) -> str:
    sign = "-" if value < 0 else ""
    whole = value.denominator == 1
    return str(value) if whole else rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def _mixed(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    text = f"{whole} {rest}" if whole and rest else str(abs(value))
    return f"-{text}" if value < 0 else text


def _latex_mixed(value: Fraction) -> str:
    whole, rest = divmod(abs(value), 1)
    text = f"{whole}{_latex(rest)}" if whole and rest else _latex(abs(value))
    return f"-{text}" if value < 0 else text


def _other(rng: random.Random, value: Fraction) -> Fraction:
    """A wrong result near the right one, as a slip of a numerator or denominator makes it."""
    while True:
        slip = rng.choice((Fraction(1, value.denominator), Fraction(1), Fraction(-1, value.denominator)))
        wrong = rng.choice(
            (
                value + slip,
                Fraction(value.numerator, value.denominator + 1),
                Fraction(value.numerator + 1, value.denominator),
                1 / value if value else value,
            )
        )
        if wrong not in (value, 0):
            return wrong


def _sum(write: Callable[[Fraction], str], plus: str, *, offset: int = 0) -> Family:
    def family(rng: random.Random, is_right: bool) -> list[str]:
        left = _fraction(rng) + rng.randint(0, offset)
        right = _fraction(rng) + rng.randint(0, offset)
        signed = {"+": left + right, "-": left - right, "*": left * right, "/": left / right}
        sign = rng.choice("+-") if plus == "±" else plus
        result = signed[{"×": "*", "÷": "/", r"\times": "*", r"\cdot": "*", r"\div": "/"}.get(sign, sign)]
        stated = result if is_right else _other(rng, result)
        start = rng.choice(("", "So ", "We get ", "The sum is "))
        return [f"{start}{write(left)} {sign} {write(right)} = {write(stated)}"]

    return family


def _unreduced_sum(rng: random.Random, is_right: bool) -> list[str]:
    left, right = _fraction(rng), _fraction(rng)
    bottom = left.denominator * right.denominator
    tops = left.numerator * right.denominator, right.numerator * left.denominator
    top = sum(tops) + (0 if is_right else rng.choice((-1, 1, 2)))
    return [f"{left} + {right} = {tops[0]}/{bottom} + {tops[1]}/{bottom} = {top}/{bottom}"]


def _simplified(write: Callable[[Fraction], str]) -> Family:
    def family(rng: random.Random, is_right: bool) -> list[str]:
        value, factor = _fraction(rng), rng.randint(2, 9)
        text = f"{value.numerator * factor}/{value.denominator * factor}"
        if write is _latex:
            text = rf"\frac{{{value.numerator * factor}}}{{{value.denominator * factor}}}"
        return [f"Simplify: {text} = {write(value if is_right else _other(rng, value))}"]

    return family


def _vulgar(rng: random.Random, is_right: bool) -> list[str]:
    signs = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅜": "3/8", "⅙": "1/6"}
    left, right = rng.choice(list(signs)), rng.choice(list(signs))
    result = Fraction(signs[left]) + Fraction(signs[right])
    return [f"{left} + {right} = {result if is_right else _other(rng, result)}"]


def _scientific(rng: random.Random, is_right: bool) -> list[str]:
    a, b, m, n = rng.randint(1, 3), rng.randint(2, 3), rng.randint(-6, 6), rng.randint(-6, 6)
    power = m + n + (0 if is_right else rng.choice((-1, 1)))
    if rng.random() < 0.5:
        return [f"{a}e{m} * {b}e{n} = {a * b}e{power}"]
    return [rf"{a} \times 10^{{{m}}} \cdot {b} \times 10^{{{n}}} = {a * b} \times 10^{{{power}}}"]


def _rounded(rng: random.Random, is_right: bool) -> list[str]:
    top, bottom, digits = rng.randint(1, 99), rng.choice((3, 7, 9, 11, 13)), rng.randint(1, 4)
    scaled = round(Fraction(top * 10**digits, bottom)) + (0 if is_right else rng.choice((-3, 2, 3)))
    return [f"{top}/{bottom} = {scaled / 10**digits:.{digits}f}"]


def _pi_area(rng: random.Random, is_right: bool) -> list[str]:
    radius = rng.randint(2, 30)
    stated = radius**2 + (0 if is_right else rng.choice((-2, 1, 10)))
    sign = rng.choice(("π", r"\pi"))
    return [
        rng.choice(
            (
                f"The area is {sign} * {radius}^2 = {stated}{sign}.",
                f"A = {sign} r^2 = {sign} \\times {radius}^2 = {stated}{sign}",
                f"{sign}({radius})^2 = {stated}{sign}",
            )
        )
    ]


def _pi_decimal(rng: random.Random, is_right: bool) -> list[str]:
    radius, pi = rng.randint(2, 30), rng.choice((3.14, 3.1416, 3.14159265))
    stated = 2 * radius * pi + (0 if is_right else rng.choice((-3, 2)))
    return [f"The circumference is C = {2 * radius}π.", f"So C = 2 * π * {radius} = {stated:.2f} cm."]


def _roots_of(rng: random.Random) -> tuple[int, int, str]:
    p, q = rng.sample([n for n in range(-9, 10) if n], 2)
    total, product = -(p + q), p * q
    middle = "" if not total else f" {'-' if total < 0 else '+'} {abs(total) if abs(total) > 1 else ''}x"
    square = rng.choice(("x^2", "x²", "x^{2}"))
    return p, q, f"{square}{middle} {'-' if product < 0 else '+'} {abs(product)} = 0"


def _factor(root: int) -> str:
    return f"x {'-' if root > 0 else '+'} {abs(root)}"


def _two_roots(rng: random.Random, is_right: bool) -> list[str]:
    p, q, quadratic = _roots_of(rng)
    factored = f"({_factor(p)})({_factor(q)}) = 0"
    return rng.choice(
        (
            [f"Factor {quadratic} as {factored}.", f"So x = {p} or x = {q}."],
            [f"{factored}, so {_factor(p)} = 0 or {_factor(q)} = 0.", f"So x = {p} or x = {q}."],
            [f"{factored}", f"{_factor(p)} = 0, so x = {p}", f"{_factor(q)} = 0, so x = {q}"],
            [f"The roots of {quadratic} are x = {p} and x = {q}."],
            [f"So x = {p} or x = {q}"],
            [f"{quadratic}", f"{_factor(p)} = 0; {_factor(q)} = 0", f"x = {p}; x = {q}"],
            [f"Either {_factor(p)} = 0, which gives x = {p}, or {_factor(q)} = 0, which gives x = {q}."],
            [f"We have x_1 = {p} and x_2 = {q}, so x_1 + x_2 = {p + q}."],
        )
    )


def _square_roots(rng: random.Random, is_right: bool) -> list[str]:
    n = rng.randint(2, 20)
    return rng.choice(
        (
            [f"x^2 = {n * n}, so x = ±{n}.", f"The two solutions are x = {n} and x = -{n}."],
            [rf"$x^2 = {n * n}$ means $x = \pm {n}$", f"x = {n} or x = -{n}"],
            [f"x² = {n * n}", f"x = {n}", f"or x = -{n}"],
            [f"x * x = {n * n}. x = {n} because x > 0, while x = -{n} is negative."],
        )
    )


def _cases(rng: random.Random, is_right: bool) -> list[str]:
    a, b = rng.randint(1, 9), rng.randint(1, 20)
    return rng.choice(
        (
            [f"Case 1: x - {a} = {b}, so x = {a + b}.", f"Case 2: x - {a} = -{b}, so x = {a - b}."],
            [f"|x - {a}| = {b}", f"x - {a} = {b} gives x = {a + b}", f"x - {a} = -{b} gives x = {a - b}"],
            [f"If x = {a}, then 2x = {2 * a}.", f"If x = {b + 20}, then 2x = {2 * (b + 20)}."],
            [f"We need 2x + 1 = {2 * b + 1}. Try x = {b + 1}: 2 * {b + 1} + 1 = {2 * b + 3}, too large."],
            [f"For n = {a}: 3n = {3 * a}. For n = {a + 1}: 3n = {3 * a + 3}."],
            [f"When x = {a}, y = {2 * a + 1}. When x = {a + 3}, y = {2 * a + 7}."],
            [f"x = {a}: y = {b}", f"x = {a + 1}: y = {b + 2}", f"x = {a + 2}: y = {b + 4}"],
            [f"Suppose x + {a} = {a + b}: then x = {b}. Otherwise x + {a} = {b + 30}, so x = {b + 30 - a}."],
        )
    )


def _reassigned(rng: random.Random, is_right: bool) -> list[str]:
    a, b, k, m = rng.randint(2, 9), rng.randint(10, 20), rng.randint(2, 6), rng.randint(2, 6)
    return rng.choice(
        (
            [f"Apples: {k}x = {k * a}, so x = {a}.", f"Pears: {m}x = {m * b}, so x = {b}."],
            [f"Let x be the apples: {k}x = {k * a}.", f"Now let x be the pears: {m}x = {m * b}."],
            [f"x = {a}", f"x = x + {k}", f"x = {a + k}"],
            [f"x = {a}; x = {a} * {k} = {a * k}; x = {a * k} + 1 = {a * k + 1}"],
            [f"i = {a}, sum = {a}", f"i = {a + 1}, sum = {2 * a + 1}"],
            [f"At first n = {a}. After the loop n = {b}."],
            [f"Start with x = {a}. Then x becomes x * {k} = {a * k}."],
        )
    )


def _function_values(rng: random.Random, is_right: bool) -> list[str]:
    a, b, n = rng.randint(2, 9), rng.randint(1, 9), rng.randint(2, 20)
    name = rng.choice("fghPTV")
    first, second = a * n + b, a * (n + 1) + b
    if not is_right:
        return [
            f"{name}(x) = {a}x + {b}",
            f"{name}({n}) = {a} * {n} + {b} = {first + rng.choice((-1, 2, 10))}",
        ]
    return rng.choice(
        (
            [f"{name}({n}) = {first}; {name}({n + 1}) = {second}"],
            [
                f"{name}(x) = {a}x + {b}",
                f"{name}({n}) = {a}({n}) + {b} = {first}",
                f"{name}({n + 1}) = {second}",
            ],
            [f"{name}({n}) = {a} \\cdot {n} + {b} = {first} and {name}(0) = {b}."],
            [f"{name}(3) = {name}(2) + {name}(1), so {name}(3) = {n} + {n + 1} = {2 * n + 1}."],
            [f"{name}(n) = {name}(n-1) + {a}", f"{name}(1) = {b}", f"{name}(2) = {b} + {a} = {a + b}"],
            [f"a_1 = {b}, a_2 = {a + b}, a_3 = {2 * a + b}"],
            [rf"$a_{{1}} = {b}$ and $a_{{2}} = {b} + {a} = {a + b}$"],
        )
    )


def _solved(rng: random.Random, is_right: bool) -> list[str]:
    a, b, x = rng.randint(2, 9), rng.randint(1, 20), rng.randint(2, 20)
    slip = 0 if is_right else rng.choice((-2, -1, 1, 2))
    if not is_right and rng.random() < 0.4:
        middle = a * x + slip
        return [f"{a}x + {b} = {a * x + b}", f"{a}x = {middle}", f"x = {middle}/{a}"]
    stated = x + slip
    return rng.choice(
        (
            [f"Solve {a}x + {b} = {a * x + b}.", f"Subtract {b}: {a}x = {a * x}.", f"So x = {stated}."],
            [f"{a}x + {b} = {a * x + b}, so {a}x = {a * x} and x = {stated}."],
            [f"Let x be the price. Then {a}x = {a * x}, which gives x = {stated}."],
            [f"{a}x = {a * x}, x = {stated}"],
            [f"{a}(x + {b}) = {a * (x + b)}", f"x + {b} = {x + b}", f"x = {stated}"],
            [rf"$\frac{{x}}{{{a}}} = {x}$", f"$x = {a * x + slip}$"],
        )
    )


def _expanded(rng: random.Random, is_right: bool) -> list[str]:
    a, b, slip = rng.randint(2, 9), rng.randint(1, 9), 0 if is_right else rng.choice((-2, -1, 1, 2))
    return [
        rng.choice(
            (
                f"{a}(x + {b}) = {a}x + {a * b + slip}",
                f"(x + {a})(x + {b}) = x^2 + {a + b}x + {a * b + slip}",
                f"(x + {a})(x - {a}) = x² - {a * a + slip}",
                f"{a}y + {b}y = {a + b + slip}y",
                f"n + {a} + {b} = n + {a + b + slip}",
            )
        )
    ]


def _equations_without_claim(rng: random.Random, is_right: bool) -> list[str]:
    a, b = rng.randint(2, 9), rng.randint(10, 19)
    return rng.choice(
        (
            [f"x + {a} = x + {b} has no solution."],
            [f"2x + {a} = 2x + {b}", f"{a} = {b}", "This is impossible, so there is no solution."],
            [f"{a}x = {b}x", "so x = 0"],
            [f"x <= {b} and x = {a}"],
            [f"2x <= {2 * b}, so x <= {b}; the largest even one is x = {b - b % 2}"],
            [f"{a} + {b} <= {a + b + 5}"],
            [f"Tom's apples + {a} = Jane's apples + {b}"],
            [f"y = {a}x + {b}, so at x = 0, y = {b}, and at x = 1, y = {a + b}."],
            [f"x + y = {a + b} and x - y = {b - a}", f"2x = {2 * b}, so x = {b} and y = {a}."],
            [f"1m = 100cm and 1m = 1000mm, so {a}m = {100 * a}cm."],
        )
    )


FAMILIES: dict[str, Family] = {
    "fraction sum": _sum(_plain, "±"),
    "fraction product": _sum(_plain, "*"),
    "fraction quotient": _sum(_plain, "÷"),
    "LaTeX fraction sum": _sum(_latex, "±"),
    "LaTeX fraction product": _sum(_latex, r"\cdot"),
    "mixed number sum": _sum(_mixed, "±", offset=5),
    "LaTeX mixed number sum": _sum(_latex_mixed, "±", offset=5),
    "common denominator": _unreduced_sum,
    "simplified": _simplified(_plain),
    "LaTeX simplified": _simplified(_latex),
    "fraction signs": _vulgar,
    "scientific notation": _scientific,
    "rounded decimals": _rounded,
    "multiples of pi": _pi_area,
    "decimals of pi": _pi_decimal,
    "two roots": _two_roots,
    "square roots": _square_roots,
    "cases": _cases,
    "reassigned": _reassigned,
    "function values": _function_values,
    "linear equation": _solved,
    "expansion": _expanded,
    "equations": _equations_without_claim,
}
RIGHT_ONLY = frozenset({"two roots", "square roots", "cases", "reassigned", "equations"})


def main() -> None:
    """Print the figures, and one text of each kind that is judged wrongly."""
    flagged: dict[tuple[str, bool], list[bool]] = defaultdict(list)
    examples: dict[tuple[str, bool], Case] = {}
    for case in cases():
        verdict = is_flagged(case)
        for family in (case.family, "all"):
            flagged[family, case.is_right].append(verdict)
            if verdict == case.is_right:
                examples.setdefault((family, case.is_right), case)
    for (family, is_right), verdicts in flagged.items():
        name = "false alarms" if is_right else "found"
        example = examples.get((family, is_right))
        steps = example.steps if example else ""
        sys.stdout.write(f"{family:24} {name:13} {sum(verdicts):4} of {len(verdicts)}  {steps}\n")


if __name__ == "__main__":
    main()
