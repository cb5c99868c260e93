"""Who has not been heard of, by the observer's own clock alone."""

from tunix_rt.runs.worker.heartbeat import HeartbeatWatch


class Clock:
    """Goes as a test says."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_beat_that_stands_still_is_stale_after_the_patience() -> None:
    clock = Clock()
    watch = HeartbeatWatch(60.0, clock)
    assert watch.stale({"a": 1, "b": 1}) == set()
    clock.now_s += 59
    assert watch.stale({"a": 1, "b": 2}) == set()
    clock.now_s += 2
    assert watch.stale({"a": 1, "b": 2}) == {"a"}


def test_whoever_beats_now_and_then_is_never_stale() -> None:
    clock = Clock()
    watch = HeartbeatWatch(60.0, clock)
    for beats in range(10):
        assert watch.stale({"a": beats}) == set()
        clock.now_s += 50


def test_an_observer_that_was_asleep_gives_everyone_the_whole_patience() -> None:
    clock = Clock()
    watch = HeartbeatWatch(60.0, clock)
    watch.stale({"a": 1})
    clock.now_s += 100_000
    assert watch.stale({"a": 2}) == set()
    clock.now_s += 59
    assert watch.stale({"a": 2}) == set()


def test_a_lease_that_is_given_again_begins_anew() -> None:
    clock = Clock()
    watch = HeartbeatWatch(60.0, clock)
    watch.stale({"first": 3})
    clock.now_s += 61
    assert watch.stale({"second": 3}) == set()
