"""Stale heartbeats, judged by the observer's clock alone."""

import pytest

from tunix_rt.runs.worker.heartbeat import HeartbeatWatch


class Clock:
    """A clock that tests set by hand."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> HeartbeatWatch:
    return HeartbeatWatch(60.0, clock)


def test_unchanged_beat_becomes_stale(watch: HeartbeatWatch, clock: Clock) -> None:
    assert watch.stale({"a": 1, "b": 1}) == set()
    clock.now_s += 59
    assert watch.stale({"a": 1, "b": 2}) == set()
    clock.now_s += 2
    assert watch.stale({"a": 1, "b": 2}) == {"a"}


def test_slow_beat_is_never_stale(watch: HeartbeatWatch, clock: Clock) -> None:
    for beats in range(10):
        assert watch.stale({"a": beats}) == set()
        clock.now_s += 50


def test_suspended_observer_restarts_timeout(watch: HeartbeatWatch, clock: Clock) -> None:
    watch.stale({"a": 1})
    clock.now_s += 100_000
    assert watch.stale({"a": 2}) == set()
    clock.now_s += 59
    assert watch.stale({"a": 2}) == set()


def test_new_lease_restarts_timeout(watch: HeartbeatWatch, clock: Clock) -> None:
    watch.stale({"first": 3})
    clock.now_s += 61
    assert watch.stale({"second": 3}) == set()
