"""Speeds are those of the steps, whenever somebody looked."""

import pytest

from tunix_rt.engines.training.metrics import Stopwatch


def test_the_first_step_only_starts_the_clock() -> None:
    stopwatch = Stopwatch()
    stopwatch.count(100, 1e3, ended_s=50.0)
    assert stopwatch.speed_since_last().tokens_per_s is None
    assert stopwatch.seconds_per_step() is None


def test_speed_is_work_between_the_ends_of_steps() -> None:
    stopwatch = Stopwatch()
    for ended_s in (10.0, 12.0, 14.0):
        stopwatch.count(100, 1e3, ended_s)
    speed = stopwatch.speed_since_last()
    assert (speed.tokens_per_s, speed.flops_per_s) == (50.0, 500.0)
    assert stopwatch.seconds_per_step() == 2.0


def test_each_line_has_the_speed_of_its_own_steps() -> None:
    stopwatch = Stopwatch()
    speeds = []
    for ended_s in (10.0, 11.0, 15.0):
        stopwatch.count(100, 1e3, ended_s)
        speeds.append(stopwatch.speed_since_last().tokens_per_s)
    assert speeds == [None, 100.0, 25.0]
    assert stopwatch.overall.tokens_per_s == pytest.approx(40.0)


def test_a_pause_is_not_time_of_training() -> None:
    stopwatch = Stopwatch()
    stopwatch.count(100, 1e3, ended_s=10.0)
    stopwatch.skip(60.0)
    stopwatch.count(100, 1e3, ended_s=72.0)
    assert stopwatch.speed_since_last().tokens_per_s == 50.0
    assert stopwatch.overall.tokens_per_s == 50.0
