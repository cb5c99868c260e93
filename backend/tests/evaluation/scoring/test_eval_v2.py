"""Every computable answer of eval_v2, recomputed independently."""

import datetime
import itertools
import math
import statistics
from collections.abc import Callable
from fractions import Fraction

import pytest

from tunix_rt.base.assets import shipped_evalset_path, shipped_traces
from tunix_rt.datasets.evalsets import load_evalset
from tunix_rt.datasets.types import EvalItem
from tunix_rt.evaluation.scoring.checkers.check import check
from tunix_rt.problems.families.text import WORDS
from tunix_rt.traces.types import Trace

ITEMS = {item.id: item for item in load_evalset(shipped_evalset_path("eval_v2"))}


def first_number(has_property: Callable[[int], bool], start: int = 1) -> int:
    """The smallest number >= start with the property."""
    return next(number for number in itertools.count(start) if has_property(number))


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


def snail_days() -> int:
    height = day = 0
    while True:
        day, height = day + 1, height + 3
        if height >= 10:
            return day
        height -= 2


def printed_pages() -> int:
    return sum(24 for minute in range(17) if minute % 6 != 5)


def truth_teller() -> str:
    """The only one of X, Y, Z whose statement alone can be true."""
    for x, y, z in ((True, False, False), (False, True, False), (False, False, True)):
        if x == (not y) and y == (not z) and z == (not x and not y):
            return "XYZ"[(x, y, z).index(True)]
    raise AssertionError


def last_in_race() -> str:
    orders = itertools.permutations(("Ana", "Bo", "Cy"))
    (order,) = [o for o in orders if o[0] != "Bo" and o.index("Cy") == o.index("Ana") + 1]
    return order[-1]


def two_faced_cubes() -> int:
    """A small cube has one red face for each coordinate at an end of the large cube."""
    return sum(sum(place != 1 for place in cube) == 2 for cube in itertools.product(range(3), repeat=3))


# Keyed by item number.
RECOMPUTED: dict[int, object] = {
    1: 17 + 26,
    2: 9 * 14,
    3: 200 - 58,
    4: 144 // 6,
    5: 4075 - 1988,
    6: 608 * 47,
    7: Fraction("7.2") / Fraction("0.9"),
    8: 3**3 + 4**3,
    9: float(Fraction(10) - Fraction("2.85")),
    10: 18 - (5 - 9),
    11: Fraction(1, 2) - Fraction(1, 3) + Fraction(1, 4),
    12: 987 * 654,
    13: 34 + 19,
    14: 18 * 7,
    15: len(range(61, 98)),
    16: 5_000 // 250,
    17: first_number(lambda packs: packs * 12 >= 100),
    18: f"{4 + 5 * 2.5:.2f}",
    19: 80 - 7 * 5 + 30,
    20: 48 * 3 // 4 - 9 + 4,
    21: snail_days(),
    22: first_number(lambda grapes: grapes * 20 == 4 * 90),
    23: len(list(itertools.product((0, 1), repeat=3))),
    24: 6 * 9,
    25: (52 // 4) ** 2,
    26: (5 - 2) * 180,
    27: 2**3,
    28: math.isqrt(61**2 - 11**2),
    29: "".join(letter for letter in "marathon" if letter not in "aeiou"),
    30: datetime.date(1999, 7, 4).isoformat(),
    31: 1_000_000 + 200_000 + 50,
    32: "notebook"[-3:][::-1],
    33: "deep" + "blue".title() + "sea".title(),
    34: ".".join(name[0].lower() for name in ("Wolfgang", "Amadeus", "Mozart")),
    41: 15 * 60,
    42: 34,
    43: 90 * 1000 // 3600,
    44: 2 * 100 * 100,
    45: first_number(lambda pounds: pounds * 14 == 91 * 10),
    46: first_number(is_prime, start=51),
    47: sum(36 % divisor == 0 for divisor in range(1, 37)),
    48: 1000 % 37,
    49: str(7**100)[-1],
    50: chr(ord("G") + 2),
    51: 6**2,
    52: 2**6 + 1,
    53: statistics.mode([4, 7, 4, 9, 7, 4, 1]),
    54: statistics.median([12, 3, 8, 5]),
    55: (10 * 15 - 33) // 9,
    56: Fraction(1, 2) ** 2,
    57: Fraction(sum(a + b == 9 for a in range(1, 7) for b in range(1, 7)), 36),
    58: first_number(lambda n: 2 * n - 7 == 19),
    59: first_number(lambda n: 5 * (n - 3) == 45),
    60: first_number(lambda n: n * (n + 1) == 182),
    61: (120 + 90) * 2,
    62: 600 % 35,
    63: printed_pages(),
    64: int(Fraction(50) * Fraction(6, 5) * Fraction(4, 5)),
    65: first_number(lambda lena: lena - 5 == 2 * (lena - 4 - 5)),
    66: first_number(lambda hours: 24 - 2 * hours == 30 - 3 * hours),
    67: 3 * first_number(lambda quarters: 25 * quarters + 10 * 2 * quarters == 675),
    68: math.ceil(50 / 14) + math.ceil(20 / 6),
    69: first_number(lambda day: 2 ** (day - 30) >= Fraction(1, 4)),
    70: 60 * 3 // 5 - 60 * 2 // 5,
    71: (5 * 2 + 8) // 2 - 5,
    72: sum(range(1, 40, 2)),
    73: 3 * (17 - 4 * 3) - 48 // (2 + 6),
    74: len(str(25 * 25 * 25 * 64)),
    75: last_in_race(),
    76: truth_teller(),
    78: first_number(lambda socks: socks > 2),
    79: (4 + 2) * (6 + 2) - 4 * 6,
    80: two_faced_cubes(),
    81: (9 - 5) // 2,
    82: first_number(lambda n: n > 9 and n == 4 * (n // 10 + n % 10) and abs(n // 10 - n % 10) == 3),
    83: 1 - Fraction(1, 2) ** 3,
    84: first_number(lambda n: n % 2 == n % 3 == n % 5 == 1, start=2),
    85: (4 * Fraction("2.5") + 5) / 5,
    86: 0 * 98765,
    87: -8 + 3,
    88: 123456789 + 987654321,
    89: 2 + 2,
    90: 5 / 8,
    91: "🍎🍐🍎🍎🍐".count("🍎"),
    92: "north\nsouth\neast".splitlines()[1],
    93: 'a"b\\c'[2],
    94: len("naïveté"),
    96: ([1] * 1000)[999],
    97: 3 * 2,
    98: 15 - 15,
    99: "yes" if is_prime(1) else "no",
    100: 24 * 60,
}


@pytest.mark.parametrize("number", RECOMPUTED)
def test_expected_answer_matches_recomputation(number: int) -> None:
    assert ITEMS[f"eval-v2-{number:03d}"].expected_answer == str(RECOMPUTED[number])


def test_few_answers_are_not_recomputed() -> None:
    remaining = [item for number, item in enumerate(ITEMS.values(), start=1) if number not in RECOMPUTED]
    assert {item.category for item in remaining} <= {"knowledge", "logic", "formatting"}
    assert len(remaining) == 8


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


def max_similarity(item: EvalItem, prompts: list[frozenset[str]]) -> float:
    """The largest Jaccard similarity between the words of the question and those of a prompt."""
    words = words_of(item.prompt)
    return max(len(words & other) / len(words | other) for other in prompts)


def test_questions_differ_from_training_prompts() -> None:
    traces = (Trace.model_validate_json(line) for line in shipped_traces("dev-reasoning-v2"))
    prompts = [words_of(trace.prompt) for trace in traces]
    similarity = {item.id: max_similarity(item, prompts) for item in ITEMS.values()}
    assert max(similarity.values()) < 0.6, max(similarity, key=lambda item_id: similarity[item_id])


def test_text_questions_avoid_training_words() -> None:
    for item in (item for item in ITEMS.values() if item.category == "formatting"):
        assert not words_of(item.prompt.replace("'", "")) & set(WORDS), item.prompt


def test_spelling_questions_require_exact_form() -> None:
    assert not check(ITEMS["eval-v2-030"], "4 July 1999").is_right
    assert not check(ITEMS["eval-v2-031"], "1,200,050").is_right
    assert check(ITEMS["eval-v2-009"], "7.150").is_right
