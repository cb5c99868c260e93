from hypothesis import given
from hypothesis import strategies as st

from tunix_rt.datasets.rows import split_of, unit_hash
from tunix_rt.traces.types import normalised_prompt

HALVES = {"train": 0.5, "validation": 0.5}
FIXED_DIVISION = [
    "validation",
    "validation",
    "validation",
    "validation",
    "validation",
    "validation",
    "train",
    "train",
]


@given(st.text(), st.integers(0, 2**31))
def test_the_hash_is_a_number_from_zero_to_below_one(text: str, seed: int) -> None:
    assert 0 <= unit_hash(text.encode("utf-8", "replace").decode(), seed=seed) < 1


def test_the_same_question_is_always_on_the_same_side() -> None:
    spellings = ["What is 2 + 2?", "what is  2 + 2?", " WHAT IS\n2 + 2? "]
    sides = {split_of(normalised_prompt(spelling), HALVES, seed=3) for spelling in spellings}
    assert len(sides) == 1


def test_the_fractions_are_kept_over_many_questions() -> None:
    splits = {"train": 0.8, "validation": 0.1, "test": 0.1}
    sides = [split_of(f"question {number}", splits, seed=0) for number in range(10_000)]
    assert 0.78 < sides.count("train") / 10_000 < 0.82
    assert 0.08 < sides.count("validation") / 10_000 < 0.12


def test_another_seed_divides_differently() -> None:
    questions = [f"question {number}" for number in range(100)]
    first = [split_of(question, HALVES, seed=1) for question in questions]
    second = [split_of(question, HALVES, seed=2) for question in questions]
    assert first != second


def test_the_division_is_the_same_on_every_machine() -> None:
    assert [split_of(f"q{number}", HALVES, seed=7) for number in range(8)] == FIXED_DIVISION


def test_a_single_split_takes_everything() -> None:
    assert {split_of(f"q{number}", {"train": 1.0}, seed=0) for number in range(100)} == {"train"}
