"""How a trial stands while it runs, and how long it has had a device."""

from datetime import timedelta

import pytest
from support.sweeps import NOON

from tunix_rt.base.errors import ConflictError
from tunix_rt.runs.types import ServiceEvent
from tunix_rt.sweeps.advance import progress_points
from tunix_rt.sweeps.types import Trial, best_trial, device_seconds, require_sweep_transition


def events(*steps: tuple[str, int]) -> list[ServiceEvent]:
    return [
        ServiceEvent.model_validate(
            {"sequence": place, "time": NOON + timedelta(seconds=second), "kind": kind, "message": ""}
        )
        for place, (kind, second) in enumerate(steps)
    ]


def trial(number: int, value: float | None, status: str = "succeeded") -> Trial:
    return Trial.model_validate(
        {
            "number": number,
            "run_id": f"run-{number}",
            "params": {},
            "status": status,
            "value": value,
            "created_at": NOON,
        }
    )


def test_a_point_is_the_mean_since_the_point_before() -> None:
    lines = [{"step": step, "loss": float(step)} for step in range(1, 41)]
    points = list(progress_points(lines, "loss", of="step", total=40))
    assert points[:2] == [(5, 1.5), (10, 3.5)]
    assert points[-1] == (100, 39.5)
    assert len(points) == 20


def test_trials_of_different_lengths_have_points_at_the_same_percents() -> None:
    short = [{"step": step, "loss": 1.0} for step in range(1, 21)]
    long = [{"epoch": step / 1000, "loss": 1.0} for step in range(1, 3001)]
    percents = [percent for percent, _ in progress_points(short, "loss", of="step", total=20)]
    assert percents == [percent for percent, _ in progress_points(long, "loss", of="epoch", total=3.0)]


def test_lines_without_the_metric_are_passed_over() -> None:
    lines = [
        {"step": 5, "loss": 1.0},
        {"step": 5, "validation_loss": 2.0},
        {"step": 10, "validation_loss": 1.0},
    ]
    points = progress_points(lines, "validation_loss", of="step", total=10)
    assert list(points) == [(50, 2.0), (100, 1.0)]


def test_only_time_on_a_device_counts() -> None:
    history = events(
        ("submitted", 0),
        ("claimed", 60),
        ("started", 61),
        ("retry", 160),
        ("claimed", 500),
        ("succeeded", 600),
    )
    assert device_seconds(history, NOON + timedelta(days=1)) == 200


def test_a_run_that_runs_counts_up_to_now() -> None:
    assert device_seconds(events(("submitted", 0), ("claimed", 60)), NOON + timedelta(seconds=90)) == 30


def test_a_clock_that_jumps_back_gives_no_negative_time() -> None:
    assert device_seconds(events(("claimed", 60), ("succeeded", 0)), NOON) == 0


def test_the_best_trial_is_the_first_of_the_best_that_succeeded() -> None:
    trials = [trial(0, 2.0), trial(1, 1.0), trial(2, 1.0), trial(3, 0.1, "pruned"), trial(4, None, "failed")]
    lowest, highest = best_trial(trials, "minimize"), best_trial(trials, "maximize")
    assert lowest is not None
    assert highest is not None
    assert (lowest.number, highest.number) == (1, 0)
    assert best_trial(trials[3:], "minimize") is None


def test_a_trial_cannot_succeed_without_a_value() -> None:
    with pytest.raises(ValueError, match="succeeded has a value"):
        trial(0, None)


def test_a_sweep_that_succeeded_does_not_run_again() -> None:
    with pytest.raises(ConflictError, match="is succeeded; it cannot become running"):
        require_sweep_transition("rates-0", "succeeded", "running")
