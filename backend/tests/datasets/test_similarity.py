import pytest

from tunix_rt.datasets.rows import jaccard, numbers, shingles, words


def test_case_and_punctuation_do_not_make_other_words() -> None:
    assert words("Tom, has 3 APPLES!") == words("tom has 3 apples")


def test_an_operator_is_a_word() -> None:
    assert words("What is 12 + 30?") != words("What is 12 - 30?")


def test_numbers_lose_their_thousands_separators_and_keep_their_order() -> None:
    assert numbers("2 pens for $1,200.50, 10% off") == ["2", "1200.50", "10"]


def test_shingles_are_runs_of_three_words() -> None:
    assert shingles(["a", "b", "c", "d"]) == {"a b c", "b c d"}


def test_a_short_text_is_one_shingle() -> None:
    assert shingles(["a", "b"]) == {"a b"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [({"a"}, {"a"}, 1.0), ({"a"}, {"b"}, 0.0), ({"a", "b"}, {"b", "c"}, 1 / 3), (set(), set(), 1.0)],
)
def test_jaccard_is_the_shared_part(first: set[str], second: set[str], expected: float) -> None:
    assert jaccard(first, second) == pytest.approx(expected)
