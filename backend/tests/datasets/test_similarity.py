import pytest

from tunix_rt.datasets.rows import jaccard, numbers, shingles, words


def test_words_ignore_case_and_punctuation() -> None:
    assert words("Tom, has 3 APPLES!") == words("tom has 3 apples")


def test_operators_are_words() -> None:
    assert words("What is 12 + 30?") != words("What is 12 - 30?")


def test_numbers_keep_order_without_separators() -> None:
    assert numbers("2 pens for $1,200.50, 10% off") == ["2", "1200.50", "10"]


def test_shingles_have_three_words() -> None:
    assert shingles(["a", "b", "c", "d"]) == {"a b c", "b c d"}


def test_short_text_is_one_shingle() -> None:
    assert shingles(["a", "b"]) == {"a b"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [({"a"}, {"a"}, 1.0), ({"a"}, {"b"}, 0.0), ({"a", "b"}, {"b", "c"}, 1 / 3), (set(), set(), 1.0)],
)
def test_jaccard_of_word_sets(first: set[str], second: set[str], expected: float) -> None:
    assert jaccard(first, second) == pytest.approx(expected)
