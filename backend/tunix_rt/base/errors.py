"""Every error that users see, with its exit code and next step; errors as JSON between processes.

The CLI prints `detail` and `next_step` without a traceback and exits with `exit_code`; the API answers
`{"detail", "next_step", "code"}`. Anything else that escapes is a bug and keeps its traceback.

    TunixRTError                1
    ├── InvalidInputError       2  the input is not acceptable
    │   ├── TooLargeError       2  the input is larger than a limit
    │   └── NotFoundError       2  no such object
    ├── ConflictError           2  the object exists, but its state forbids this
    ├── DataError               3  rows, datasets or eval sets that cannot be used
    ├── DeviceError             4  the requested device is not available
    ├── DoesNotFitError         5  the run needs more memory than the device has
    ├── DivergedError           6  the loss or a gradient is not finite
    ├── StorageError            1  the disk or the database failed
    ├── JudgeError              1  the judge's endpoint failed
    ├── ServingError            1  a model process failed, or none is free
    ├── KaggleError             1  Kaggle failed, or a notebook there did
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
        # Unpickled in another process without calling the constructor, whose arguments differ by class.
        return _unpickle, (type(self), self.detail), self.__dict__


def _unpickle(kind: type[TunixRTError], detail: str) -> TunixRTError:
    return kind.__new__(kind, detail)


class InvalidInputError(TunixRTError):
    """The input is not acceptable."""

    code = "invalid-input"
    exit_code = 2


class TooLargeError(InvalidInputError):
    """The input is larger than a stated limit."""

    code = "too-large"


class NotFoundError(InvalidInputError):
    """The requested object does not exist."""

    code = "not-found"


class ConflictError(TunixRTError):
    """The object exists, but its state does not allow the request."""

    code = "conflict"
    exit_code = 2


class DataError(TunixRTError):
    """Rows, a dataset or an eval set that cannot be used as they are."""

    code = "bad-data"
    exit_code = 3


class DeviceError(TunixRTError):
    """The requested device is not available or does not work."""

    code = "device"
    exit_code = 4


class DoesNotFitError(TunixRTError):
    """The run needs more memory than the device has, as planned or as measured."""

    code = "does-not-fit"
    exit_code = 5


class DivergedError(TunixRTError):
    """The loss or a gradient is not finite; the last good state is kept."""

    code = "diverged"
    exit_code = 6


class StorageError(TunixRTError):
    """The disk or the database failed; nothing was partially written."""

    code = "storage"


class JudgeError(TunixRTError):
    """The judge's endpoint cannot be used: unreachable, wrong key, or unknown model."""

    code = "judge"


class ServingError(TunixRTError):
    """The process that serves a model has died, or no process is free to load it."""

    code = "serving"


class KaggleError(TunixRTError):
    """Kaggle is unreachable or refuses the request, or a notebook there failed or has not ended."""

    code = "kaggle"


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
    """The first problems, and how many more there are.

    Example:
        ["line 2: no id", "line 3: no id"] -> "line 2: no id; line 3: no id"
    """
    more = len(problems) - _MAX_PROBLEMS
    return "; ".join([*problems[:_MAX_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known word, or list all of them.

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
    """The error of a failed child process; its exit code determines the class.

    Example:
        5, '{"detail": "It needs 9 GiB.", …}' -> DoesNotFitError("The torch engine failed: It needs 9 GiB.")
    """
    *_, last_line = stderr.strip().splitlines() or [""]
    try:
        fields = json.loads(last_line)
        detail, next_step = str(fields["detail"]), str(fields["next_step"])
    except (ValueError, KeyError, TypeError):
        detail = stderr.strip()[-_SHOWN_CHARS:] or "it printed nothing"
        next_step = "This is a bug: please report it with the recipe."
    kind = _BY_EXIT_CODE.get(exit_code, TunixRTError)
    return kind(f"{what} failed: {detail}", next_step=next_step)
