"""Progress points of a running trial, device time, and the best trial."""

from datetime import timedelta

import pytest
from support.sweeps import NOON

from tunix_rt.base.errors import ConflictError
from tunix_rt.runs.types import ServiceEvent
from tunix_rt.sweeps.advance import progress_points
from tunix_rt.sweeps.types import Trial, best_trial, device_seconds, require_sweep_transition


def make_events(*steps: tuple[str, int]) -> list[ServiceEvent]:
    return [
        ServiceEvent.model_validate(
            {"sequence": place, "time": NOON + timedelta(seconds=second), "kind": kind, "message": ""}
        )
        for place, (kind, second) in enumerate(steps)
    ]


def make_trial(number: int, value: float | None, status: str = "succeeded") -> Trial:
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


def test_progress_points_average_since_previous() -> None:
    lines = [{"step": step, "loss": float(step)} for step in range(1, 41)]
    points = list(progress_points(lines, "loss", of="step", total=40))
    assert points[:2] == [(5, 1.5), (10, 3.5)]
    assert points[-1] == (100, 39.5)
    assert len(points) == 20


def test_progress_percents_ignore_training_length() -> None:
    short = [{"step": step, "loss": 1.0} for step in range(1, 21)]
    long = [{"epoch": step / 1000, "loss": 1.0} for step in range(1, 3001)]
    percents = [percent for percent, _ in progress_points(short, "loss", of="step", total=20)]
    assert percents == [percent for percent, _ in progress_points(long, "loss", of="epoch", total=3.0)]


def test_lines_without_metric_are_skipped() -> None:
    lines = [
        {"step": 5, "loss": 1.0},
        {"step": 5, "validation_loss": 2.0},
        {"step": 10, "validation_loss": 1.0},
    ]
    points = progress_points(lines, "validation_loss", of="step", total=10)
    assert list(points) == [(50, 2.0), (100, 1.0)]


@pytest.mark.parametrize(
    ("history", "now_s", "expected"),
    [
        pytest.param(
            [
                ("submitted", 0),
                ("claimed", 60),
                ("started", 61),
                ("retry", 160),
                ("claimed", 500),
                ("succeeded", 600),
            ],
            86_400,
            200,
            id="excludes waiting",
        ),
        pytest.param([("submitted", 0), ("claimed", 60)], 90, 30, id="running until now"),
        pytest.param([("claimed", 60), ("succeeded", 0)], 0, 0, id="clock moved backwards"),
    ],
)
def test_device_seconds(history: list[tuple[str, int]], now_s: int, expected: float) -> None:
    assert device_seconds(make_events(*history), NOON + timedelta(seconds=now_s)) == expected


def test_best_trial_prefers_the_first() -> None:
    trials = [
        make_trial(0, 2.0),
        make_trial(1, 1.0),
        make_trial(2, 1.0),
        make_trial(3, 0.1, "pruned"),
        make_trial(4, None, "failed"),
    ]
    lowest, highest = best_trial(trials, "minimize"), best_trial(trials, "maximize")
    assert lowest is not None
    assert highest is not None
    assert (lowest.number, highest.number) == (1, 0)
    assert best_trial(trials[3:], "minimize") is None


def test_succeeded_trial_requires_a_value() -> None:
    with pytest.raises(ValueError, match="succeeded has a value"):
        make_trial(0, None)


def test_succeeded_sweep_cannot_restart() -> None:
    with pytest.raises(ConflictError, match="is succeeded; it cannot become running"):
        require_sweep_transition("rates-0", "succeeded", "running")
