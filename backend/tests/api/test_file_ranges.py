"""Parsing of `Range` and `If-Range` headers."""

import pytest

from tunix_rt.base.http.transfers import requested_range

VALIDATORS = {"ETag": '"abc"', "Last-Modified": "Wed, 01 Jan 2025 12:00:00 GMT"}


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
def test_single_range_is_parsed(header: str, expected: range) -> None:
    assert requested_range({"range": header}, VALIDATORS, 10) == expected


@pytest.mark.parametrize(
    "header", ["", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,4-5", "lines=0-1", "bytes=a-b", "bytes=٣-"]
)
def test_unsupported_ranges_mean_whole_file(header: str) -> None:
    assert requested_range({"range": header}, VALIDATORS, 10) is None


@pytest.mark.parametrize(
    ("header", "size"),
    [("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=-0", 10), (f"bytes={10**18}-", 10), ("bytes=0-", 0)],
)
def test_unsatisfiable_range_is_empty(header: str, size: int) -> None:
    assert requested_range({"range": header}, VALIDATORS, size) == range(0)


@pytest.mark.parametrize(
    ("if_range", "is_part"),
    [*((value, True) for value in VALIDATORS.values()), ('"old"', False), ('W/"abc"', False)],
)
def test_stale_if_range_means_whole_file(if_range: str, is_part: bool) -> None:
    selected = requested_range({"range": "bytes=1-2", "if-range": if_range}, VALIDATORS, 10)
    assert (selected is not None) == is_part
