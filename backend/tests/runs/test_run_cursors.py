"""Stream cursors and their text form."""

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.runs.live import Cursor, LinePosition, mark_of, parse_cursor


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(),
        Cursor(num_service_events=3, log=120),
        Cursor(
            1, LinePosition(77, mark_of(b"an event\n")), LinePosition(10**14, mark_of(b"a step\n")), 5 * 10**9
        ),
    ],
)
def test_cursor_round_trips(cursor: Cursor) -> None:
    assert parse_cursor(str(cursor)) == cursor


@pytest.mark.parametrize(
    "text", ["1", "x", "1-2.-3.-4 ", "-1-0.-0.-0", "1-2.zz-3.-4", "1-2.-3.-" + "9" * 16, "٣-0.-0.-0", "\x00"]
)
def test_invalid_cursor_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not a cursor"):
        parse_cursor(text)


def test_marks_distinguish_lines() -> None:
    assert mark_of(b"") == ""
    assert len({mark_of(b"a\n"), mark_of(b"b\n"), mark_of(b"")}) == 3
