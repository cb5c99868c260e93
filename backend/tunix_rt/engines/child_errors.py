"""Errors that travel from a child process to the one that waits for it: the last line of standard error."""

import json
import sys

from tunix_rt.core.errors import (
    DataError,
    DeviceError,
    DivergedError,
    DoesNotFitError,
    InvalidInputError,
    TunixRTError,
)

_BY_EXIT_CODE: dict[int, type[TunixRTError]] = {
    error.exit_code: error
    for error in (InvalidInputError, DataError, DeviceError, DoesNotFitError, DivergedError)
}
_SHOWN_CHARS = 1_000


def print_child_error(error: TunixRTError) -> None:
    """Say what is wrong in the shape that `child_error` reads; `tunix-rt … --json` does the same."""
    shape = {"detail": error.detail, "next_step": error.next_step, "code": error.code}
    sys.stderr.write(json.dumps(shape, ensure_ascii=False) + "\n")


def child_error(what: str, exit_code: int, stderr: str) -> TunixRTError:
    """The error of a child that has failed, of the kind that its exit code says.

    Example:
        5, '{"detail": "It needs 9 GiB.", …}' -> DoesNotFitError("The torch engine failed: It needs 9 GiB.")
    """
    *_, last_line = stderr.strip().splitlines() or [""]
    try:
        said = json.loads(last_line)
        detail, next_step = str(said["detail"]), str(said["next_step"])
    except (ValueError, KeyError, TypeError):
        detail = stderr.strip()[-_SHOWN_CHARS:] or "it said nothing"
        next_step = "Report this with the recipe: it should not end like this."
    kind = _BY_EXIT_CODE.get(exit_code, TunixRTError)
    return kind(f"{what} failed: {detail}", next_step=next_step)
