"""Training speed is measured between the ends of steps, whenever it is read."""

import pytest

from tunix_rt.engines.training.metrics import Stopwatch


def test_first_step_only_starts_clock() -> None:
    stopwatch = Stopwatch()
    stopwatch.count(100, 1e3, ended_s=50.0)
    assert stopwatch.speed_since_last().tokens_per_s is None
    assert stopwatch.seconds_per_step() is None


def test_speed_uses_time_between_steps() -> None:
    stopwatch = Stopwatch()
    for ended_s in (10.0, 12.0, 14.0):
        stopwatch.count(100, 1e3, ended_s)
    speed = stopwatch.speed_since_last()
    assert (speed.tokens_per_s, speed.flops_per_s) == (50.0, 500.0)
    assert stopwatch.seconds_per_step() == 2.0


def test_speed_covers_steps_since_last_read() -> None:
    stopwatch = Stopwatch()
    speeds = []
    for ended_s in (10.0, 11.0, 15.0):
        stopwatch.count(100, 1e3, ended_s)
        speeds.append(stopwatch.speed_since_last().tokens_per_s)
    assert speeds == [None, 100.0, 25.0]
    assert stopwatch.overall.tokens_per_s == pytest.approx(40.0)


def test_pauses_are_excluded() -> None:
    stopwatch = Stopwatch()
    stopwatch.count(100, 1e3, ended_s=10.0)
    stopwatch.skip(60.0)
    stopwatch.count(100, 1e3, ended_s=72.0)
    assert stopwatch.speed_since_last().tokens_per_s == 50.0
    assert stopwatch.overall.tokens_per_s == 50.0
