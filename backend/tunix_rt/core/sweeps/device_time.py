"""How long a run has had a device, from what queue and workers did with it."""

from collections.abc import Iterable
from datetime import datetime

from tunix_rt.runs.types import ServiceEvent, ServiceEventKind

_LET_GO: frozenset[ServiceEventKind] = frozenset(
    {"lease-lost", "retry", "requeued", "paused", "cancelled", "failed", "succeeded"}
)


def device_seconds(events: Iterable[ServiceEvent], now: datetime) -> float:
    """Seconds from each claim to what ended it; a claim that holds counts up to `now`.

    Example:
        claimed 12:00, retry 12:10, claimed 12:30, now 12:31 -> 660
    """
    total, since = 0.0, None
    for event in events:
        if event.kind == "claimed":
            since = event.time
        elif event.kind in _LET_GO and since is not None:
            total += max((event.time - since).total_seconds(), 0.0)
            since = None
    return total if since is None else total + max((now - since).total_seconds(), 0.0)
