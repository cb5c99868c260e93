"""Allowed status transitions and the retry backoff."""

import pytest

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.training.types import RUN_STATUSES, RunStatus
from tunix_rt.runs.types import (
    ACTIVE,
    ALLOWED,
    BACKOFF_CAP_S,
    TERMINAL,
    backoff_s,
    require_transition,
    steps_between,
)


def test_every_status_is_classified() -> None:
    assert set(ALLOWED) == set(RUN_STATUSES)
    assert set(RUN_STATUSES) == ACTIVE | TERMINAL | {"queued"}


def test_invalid_transition_is_rejected() -> None:
    require_transition("run-1", "queued", "running")
    with pytest.raises(ConflictError, match=r"run-1 is succeeded; it cannot become queued.*runs show run-1"):
        require_transition("run-1", "succeeded", "queued")


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ("running", "succeeded", ("succeeded",)),
        ("running", "cancelled", ("cancelling", "cancelled")),
        ("failed", "running", ("queued", "running")),
        ("running", "running", ()),
    ],
)
def test_unobserved_steps_take_shortest_path(
    before: RunStatus, after: RunStatus, steps: tuple[RunStatus, ...]
) -> None:
    assert steps_between(before, after) == steps


def test_succeeded_run_cannot_restart() -> None:
    with pytest.raises(ConflictError, match="cannot become running"):
        steps_between("succeeded", "running")


def test_backoff_grows_up_to_cap() -> None:
    assert [backoff_s(failures) for failures in (0, 1, 2, 3)] == [2.0, 2.0, 8.0, 32.0]
    assert backoff_s(1000) == BACKOFF_CAP_S
