"""Every error a person can meet, with its exit code and next step; errors as JSON between processes.

The CLI prints `detail` and `next_step` without a traceback and exits with `exit_code`; the API answers
`{"detail", "next_step", "code"}`. Anything else that escapes is a bug and keeps its traceback.

    TunixRTError                1
    ├── InvalidInputError       2  what was typed or sent is not acceptable
    │   ├── TooLargeError       2  it is acceptable in kind, not in size
    │   └── NotFoundError       2  the thing named does not exist
    ├── ConflictError           2  the thing exists in a state that forbids this
    ├── DataError               3  rows, datasets or eval sets that must not be used
    ├── DeviceError             4  the device that was asked for is not there
    ├── DoesNotFitError         5  the run needs more memory than the device has
    ├── DivergedError           6  the loss or a gradient is no longer a finite number
    ├── StorageError            1  the disk or the database did not do its part
    ├── JudgeError              1  the endpoint that judges did not do its part
    ├── ServingError            1  the process of a model did not do its part, or none is free
    ├── KaggleError             1  Kaggle did not do its part, or a notebook there failed
    └── MissingExtraError       2  an optional dependency is not installed
"""

import json
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar

_MAX_PROBLEMS = 5


class TunixRTError(Exception):
    """An error that says what is wrong and what to do next."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str, *, next_step: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.detail} {self.next_step}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes raise it again as it was, whatever its constructor takes.
        return _again, (type(self), self.detail), self.__dict__


def _again(kind: type[TunixRTError], detail: str) -> TunixRTError:
    return kind.__new__(kind, detail)


class InvalidInputError(TunixRTError):
    """What the caller typed or sent is not acceptable as it is."""

    code = "invalid-input"
    exit_code = 2


class TooLargeError(InvalidInputError):
    """The input is larger than a stated limit."""

    code = "too-large"


class NotFoundError(InvalidInputError):
    """The thing that the caller named does not exist."""

    code = "not-found"


class ConflictError(TunixRTError):
    """The thing exists, in a state that forbids what was asked."""

    code = "conflict"
    exit_code = 2


class DataError(TunixRTError):
    """Rows, a dataset or an eval set that must not be used as they are."""

    code = "bad-data"
    exit_code = 3


class DeviceError(TunixRTError):
    """The device that was asked for is not there, or does not work."""

    code = "device"
    exit_code = 4


class DoesNotFitError(TunixRTError):
    """The run needs more memory than the device has, as planned or as met."""

    code = "does-not-fit"
    exit_code = 5


class DivergedError(TunixRTError):
    """The loss or a gradient is no longer a finite number; the last good state is kept."""

    code = "diverged"
    exit_code = 6


class StorageError(TunixRTError):
    """The disk or the database did not do its part; nothing was half-written."""

    code = "storage"
    exit_code = 1


class JudgeError(TunixRTError):
    """No request to the judge's endpoint can succeed: nobody there, a wrong key, an unknown model."""

    code = "judge"
    exit_code = 1


class ServingError(TunixRTError):
    """The process that holds a model has died, or no process is free to load one."""

    code = "serving"
    exit_code = 1


class KaggleError(TunixRTError):
    """Kaggle cannot be reached or refuses, or a notebook there has failed or does not end."""

    code = "kaggle"
    exit_code = 1


class MissingExtraError(TunixRTError):
    """A feature needs an optional dependency that is not installed."""

    code = "missing-extra"
    exit_code = 2

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional extra '{extra}', which is not installed.",
            next_step=f"Run: pip install 'tunix-rt[{extra}]'",
        )


def first_problems(problems: Sequence[str]) -> str:
    """As many as a person reads in one sentence, and how many more there are.

    Example:
        ["line 2: no id", "line 3: no id"] -> "line 2: no id; line 3: no id"
    """
    more = len(problems) - _MAX_PROBLEMS
    return "; ".join([*problems[:_MAX_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known word, else lists all of them.

    Example:
        "reasonning", ["reasoning", "think"] -> "Did you mean 'reasoning'?"
    """
    names = sorted(known)
    close = get_close_matches(word, names, n=1)
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(names)}."


_BY_EXIT_CODE: dict[int, type[TunixRTError]] = {
    error.exit_code: error
    for error in (InvalidInputError, DataError, DeviceError, DoesNotFitError, DivergedError)
}
_SHOWN_CHARS = 1_000


def error_fields(error: TunixRTError) -> dict[str, str]:
    """The JSON object of an error, the same on stderr, in the API and between processes."""
    return {"detail": error.detail, "next_step": error.next_step, "code": error.code}


def print_child_error(error: TunixRTError) -> None:
    """Print the error to stderr as the JSON line that `child_error` reads; `tunix-rt … --json` does too."""
    sys.stderr.write(json.dumps(error_fields(error), ensure_ascii=False) + "\n")


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
