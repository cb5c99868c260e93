"""Orbax abandons all reads when one of them fails; each complains, whenever it is collected or answered.

Such a complaint says nothing, and would stand in the middle of the training that goes on from an earlier
checkpoint.
"""

import inspect
import sys

_READ = "_read_array_index_and_device_put"
_CLOSED_LOOP = "Event loop is closed"


def silence_abandoned_reads() -> None:
    """From here on Python reports what it cannot raise as before, but for those complaints."""
    report = sys.unraisablehook
    if getattr(report, "leaves_out_abandoned_reads", False):
        return

    def report_others(unraisable: "sys.UnraisableHookArgs") -> None:
        if not _is_of_an_abandoned_read(unraisable):
            report(unraisable)

    report_others.leaves_out_abandoned_reads = True  # type: ignore[attr-defined]
    sys.unraisablehook = report_others


def _is_of_an_abandoned_read(unraisable: "sys.UnraisableHookArgs") -> bool:
    source, error = unraisable.object, unraisable.exc_value
    if inspect.iscoroutine(source):
        return source.__name__ == _READ
    # What the threads of TensorStore meet when they bring what nobody waits for any more.
    return source is None and isinstance(error, RuntimeError) and str(error) == _CLOSED_LOOP
