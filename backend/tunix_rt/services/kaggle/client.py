"""The official client of Kaggle, imported where it is used, its failures turned into ours."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from tunix_rt.base.errors import InvalidInputError, KaggleError, MissingExtraError, NotFoundError

_LOG_IN = (
    "Set KAGGLE_API_TOKEN, or KAGGLE_USERNAME and KAGGLE_KEY, or put kaggle.json into ~/.kaggle; "
    "Kaggle's settings make one."
)
_FORBIDDEN, _NOT_FOUND = (401, 403), 404


def open_client() -> Any:
    """The client, logged in.

    Raises:
        MissingExtraError: It is not installed.
        InvalidInputError: There are no credentials.
    """
    # It logs in while it is imported, and prints how to when it cannot: we say that ourselves.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            from kaggle.api.kaggle_api_extended import KaggleApi
        except ImportError as error:
            raise MissingExtraError("The way to Kaggle", extra="kaggle") from error
        client = KaggleApi()
        try:
            client.authenticate()
        except SystemExit as error:
            raise InvalidInputError("There are no credentials for Kaggle.", next_step=_LOG_IN) from error
    return client


@contextmanager
def kaggle_errors(kernel: str) -> Iterator[None]:
    """Say what went wrong on the way to a notebook there."""
    import requests

    try:
        with redirect_stdout(io.StringIO()):
            yield
    except requests.HTTPError as error:
        status = None if error.response is None else error.response.status_code
        if status in _FORBIDDEN:
            raise _refused(kernel, str(error)) from error
        if status == _NOT_FOUND:
            raise _unknown(kernel) from error
        raise KaggleError(f"Kaggle answered with an error: {error}", next_step="Try again later.") from error
    except requests.RequestException as error:
        raise KaggleError(
            f"Kaggle cannot be reached: {error}", next_step="Check the connection and the proxy settings."
        ) from error
    except ValueError as error:
        # What the client makes of 401 and 403, and of a slug that it cannot read.
        raise _refused(kernel, str(error)) from error


def _refused(kernel: str, said: str) -> InvalidInputError:
    return InvalidInputError(
        f"Kaggle does not give access to {kernel}: {said}",
        next_step=f"Check the slug in the address of the notebook, and who is logged in. {_LOG_IN}",
    )


def _unknown(kernel: str) -> NotFoundError:
    return NotFoundError(
        f"There is no notebook {kernel} on Kaggle.",
        next_step="Take OWNER/SLUG from its address: kaggle.com/code/OWNER/SLUG.",
    )
