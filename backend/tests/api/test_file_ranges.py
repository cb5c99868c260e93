"""What part of a file a request wants."""

import pytest

from tunix_rt.base.http.transfers import requested_range

KNOWN = {"ETag": '"abc"', "Last-Modified": "Wed, 01 Jan 2025 12:00:00 GMT"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", range(0, 1)),
        ("bytes=2-", range(2, 10)),
        ("bytes=2-99", range(2, 10)),
        ("bytes=-3", range(7, 10)),
        ("bytes=-99", range(0, 10)),
        ("Bytes = 1-2", range(1, 3)),
        ("bytes=9-9", range(9, 10)),
    ],
)
def test_one_range_is_what_is_sent(header: str, expected: range) -> None:
    assert requested_range({"range": header}, KNOWN, 10) == expected


@pytest.mark.parametrize(
    "header", ["", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=a-b", "bytes=٣-"]
)
def test_what_is_not_one_range_means_the_whole_file(header: str) -> None:
    assert requested_range({"range": header}, KNOWN, 10) is None


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=-0", f"bytes={10**18}-"])
def test_a_range_that_the_file_has_nothing_of_is_empty(header: str) -> None:
    assert requested_range({"range": header}, KNOWN, 10) == range(0)


def test_an_empty_file_has_no_range() -> None:
    assert requested_range({"range": "bytes=0-"}, KNOWN, 0) == range(0)


@pytest.mark.parametrize(
    ("if_range", "is_part"),
    [*((value, True) for value in KNOWN.values()), ('"old"', False), ('W/"abc"', False)],
)
def test_a_range_of_another_version_means_the_whole_file(if_range: str, is_part: bool) -> None:
    chosen = requested_range({"range": "bytes=1-2", "if-range": if_range}, KNOWN, 10)
    assert (chosen is not None) == is_part
