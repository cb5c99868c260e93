"""Where a sweep may stand and where it may go from there, in the words of runs.

queued      created; started -> running
running     budget spent -> succeeded, or failed when no trial succeeded; told to stop -> cancelling
cancelling  every trial has stopped -> cancelled, unless its end comes first
cancelled   resumed -> running, with the trials that were stopped
failed      resumed -> running
"""

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.training.types import RunStatus

ALLOWED: dict[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset({"running", "cancelled"}),
    "running": frozenset({"cancelling", "failed", "succeeded"}),
    # A sweep that is told to stop may have reached its end before it hears of it.
    "cancelling": frozenset({"cancelled", "failed", "succeeded"}),
    "cancelled": frozenset({"running"}),
    "failed": frozenset({"running"}),
    "succeeded": frozenset(),
}


def require_sweep_transition(sweep_id: str, before: RunStatus, after: RunStatus) -> None:
    """Refuse a step that the picture above does not have.

    Raises:
        ConflictError: The sweep cannot go there from where it stands.
    """
    if after not in ALLOWED[before]:
        raise ConflictError(
            f"The sweep {sweep_id} is {before}; it cannot become {after}.",
            next_step=f"Look at it first: tunix-rt tune show {sweep_id}",
        )
