"""Where a run may stand and where it may go from there.

queued      a worker takes it -> running; cancelled at once; failed when it can never be taken
running     its end -> succeeded or failed; told to stop -> cancelling; paused, retried or orphaned -> queued
cancelling  -> cancelled, unless its end comes first
cancelled   resumed -> queued, from the last checkpoint
failed      resumed -> queued, from the last checkpoint
"""

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.training.types import RunStatus

ACTIVE: frozenset[RunStatus] = frozenset({"running", "cancelling"})
"""A worker has it."""
TERMINAL: frozenset[RunStatus] = frozenset({"cancelled", "failed", "succeeded"})
"""Nothing happens to it any more unless somebody asks."""

ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"queued", "cancelling", "failed", "succeeded"}),
    # A run that is told to stop may have reached its end, or fail, before it hears of it.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"queued"}),
    "failed": frozenset({"queued"}),
    "succeeded": frozenset(),
}


def require_transition(run_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a step that the picture above does not have.

    Raises:
        ConflictError: The run cannot go there from where it stands.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The run {run_id} is {before}; it cannot become {after}.",
            next_step=f"Look at it first: tunix-rt runs show {run_id}",
        )


def steps_between(before: RunStatus, after: RunStatus) -> tuple[RunStatus, ...]:
    """The shortest way, for a run that went it where nobody watched.

    Example:
        running, cancelled -> cancelling, cancelled
    """
    ways: list[tuple[RunStatus, ...]] = [(before,)]
    while ways:
        way = ways.pop(0)
        if way[-1] == after:
            return way[1:]
        ways += [(*way, status) for status in sorted(ALLOWED[way[-1]]) if status not in way]
    raise ConflictError(
        f"A run that is {before} cannot become {after}.", next_step="Submit it as a new run instead."
    )
