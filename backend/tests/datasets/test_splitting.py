from hypothesis import given
from hypothesis import strategies as st

from tunix_rt.datasets.rows import split_of, unit_hash
from tunix_rt.traces.types import normalised_prompt

HALVES = {"train": 0.5, "validation": 0.5}
EXPECTED_SPLITS = ["validation"] * 6 + ["train"] * 2


@given(st.text(), st.integers(0, 2**31))
def test_unit_hash_is_below_one(text: str, seed: int) -> None:
    assert 0 <= unit_hash(text.encode("utf-8", "replace").decode(), seed=seed) < 1


def test_spellings_share_a_split() -> None:
    spellings = ["What is 2 + 2?", "what is  2 + 2?", " WHAT IS\n2 + 2? "]
    found = {split_of(normalised_prompt(spelling), HALVES, seed=3) for spelling in spellings}
    assert len(found) == 1


def test_fractions_hold_over_many_questions() -> None:
    splits = {"train": 0.8, "validation": 0.1, "test": 0.1}
    found = [split_of(f"question {number}", splits, seed=0) for number in range(10_000)]
    assert 0.78 < found.count("train") / 10_000 < 0.82
    assert 0.08 < found.count("validation") / 10_000 < 0.12


def test_seed_changes_split() -> None:
    questions = [f"question {number}" for number in range(100)]
    first = [split_of(question, HALVES, seed=1) for question in questions]
    second = [split_of(question, HALVES, seed=2) for question in questions]
    assert first != second


def test_split_is_stable_across_machines() -> None:
    assert [split_of(f"q{number}", HALVES, seed=7) for number in range(8)] == EXPECTED_SPLITS


def test_single_split_takes_everything() -> None:
    assert {split_of(f"q{number}", {"train": 1.0}, seed=0) for number in range(100)} == {"train"}
