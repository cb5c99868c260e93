"""Mapping a function over items in threads."""

import threading

import pytest

from tunix_rt.base.errors import NotFoundError
from tunix_rt.base.host import in_threads


def test_results_keep_item_order() -> None:
    second_is_done = threading.Event()

    def wait_for_second(number: int) -> int:
        if number == 1:
            second_is_done.set()
        assert second_is_done.wait(60)
        return 10 * number

    with in_threads(wait_for_second, [0, 1, 2], num_threads=2) as results:
        assert list(results) == [0, 10, 20]


def test_error_stops_remaining_items() -> None:
    started = []

    def fail_first(number: int) -> int:
        started.append(number)
        if number == 0:
            raise NotFoundError("nobody there", next_step="look elsewhere")
        threading.Event().wait(0.01)
        return number

    def take_all() -> None:
        with in_threads(fail_first, range(1000), num_threads=1) as results:
            list(results)

    with pytest.raises(NotFoundError, match="nobody there"):
        take_all()
    assert len(started) < 1000


def test_no_items_yield_no_results() -> None:
    with in_threads(str, [], num_threads=4) as results:
        assert list(results) == []
