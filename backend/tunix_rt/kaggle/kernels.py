"""Push and pull through Kaggle's client."""

import io
import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunix_rt.base.errors import InvalidInputError, KaggleError, MissingExtraError, NotFoundError
from tunix_rt.base.records import Record
from tunix_rt.engines.training.types import OUT_OF_TIME_TEXT
from tunix_rt.kaggle.notebook import METADATA_KEY, slug_of

_LOG_IN = (
    "Set KAGGLE_API_TOKEN, or KAGGLE_USERNAME and KAGGLE_KEY, or put kaggle.json into ~/.kaggle; "
    "create one in Kaggle's settings."
)
_FORBIDDEN, _NOT_FOUND = (401, 403), 404


def open_client() -> Any:
    """The client, logged in.

    Raises:
        MissingExtraError: It is not installed.
        InvalidInputError: There are no credentials.
    """
    # The client logs in on import and prints instructions on failure, which our error replaces.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            from kaggle.api.kaggle_api_extended import KaggleApi
        except ImportError as error:
            raise MissingExtraError("Access to Kaggle", extra="kaggle") from error
        client = KaggleApi()
        try:
            client.authenticate()
        except SystemExit as error:
            raise InvalidInputError("There are no credentials for Kaggle.", next_step=_LOG_IN) from error
    return client


@contextmanager
def kaggle_errors(kernel: str) -> Iterator[None]:
    """Turn failures of Kaggle's client into errors with a next step."""
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
        raise KaggleError(f"Kaggle returned an error: {error}", next_step="Try again later.") from error
    except requests.RequestException as error:
        raise KaggleError(
            f"Kaggle cannot be reached: {error}", next_step="Check the connection and the proxy settings."
        ) from error
    except ValueError as error:
        # The client raises it for 401, 403 and a malformed slug.
        raise _refused(kernel, str(error)) from error


def _refused(kernel: str, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"Kaggle denies access to {kernel}: {reason}",
        next_step=f"Check the slug in the notebook's URL and the logged-in account. {_LOG_IN}",
    )


def _unknown(kernel: str) -> NotFoundError:
    return NotFoundError(
        f"There is no notebook {kernel} on Kaggle.",
        next_step="Take OWNER/SLUG from its URL: kaggle.com/code/OWNER/SLUG.",
    )


POLL_S = 30.0
_UNFINISHED = ("QUEUED", "RUNNING", "NEW_SCRIPT", "CANCEL_REQUESTED")
_REASON = re.compile(r"error: (.*?)(?:\\n|\n|\")")
_EVIDENCE = "evidence.json"


@dataclass(frozen=True)
class PushRequest:
    """A notebook and its address."""

    notebook: Path
    kernel: str
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class Pushed(Record):
    """A pushed notebook."""

    kernel: str
    url: str
    version: int | None = None


class Pulled(Record):
    """The downloaded output of a notebook."""

    kernel: str
    directory: str
    files: tuple[str, ...]
    evidence: tuple[str, ...]
    """Directories of the evidence bundles among them."""


def push_kernel(request: PushRequest) -> Pushed:
    """Send a notebook; Kaggle runs it.

    Raises:
        InvalidInputError: It is not a notebook of ours, the address is malformed, or Kaggle denies access.
        KaggleError: Kaggle is unreachable or rejects it.
    """
    metadata = _metadata(request)
    client = open_client()
    with tempfile.TemporaryDirectory(prefix="tunix-rt-kaggle-") as directory:
        folder = Path(directory)
        (folder / metadata["code_file"]).write_bytes(request.notebook.read_bytes())
        (folder / "kernel-metadata.json").write_text(json.dumps(metadata, indent=1), encoding="utf-8")
        with kaggle_errors(request.kernel):
            answer = client.kernels_push(directory)
    _check_push(request.kernel, answer)
    return Pushed(kernel=request.kernel, url=answer.url, version=answer.version_number)


def pull_kernel(kernel: str, to: Path | None, *, waits: bool, poll_s: float = POLL_S) -> Pulled:
    """Fetch the output and the log of the last session of a notebook.

    Raises:
        KaggleError: It has not ended, or it failed; the output of a failed one is downloaded too.
    """
    slug = slug_of(kernel)
    directory = to or Path(slug)
    client = open_client()
    status, message = _end_of(client, kernel, waits=waits, poll_s=poll_s)
    with kaggle_errors(kernel):
        files, _ = client.kernels_output(kernel, str(directory))
    if status != "COMPLETE":
        raise _failed(kernel, message or status.lower(), directory, log=directory / f"{slug}.log")
    bundles = sorted(str(Path(file).parent) for file in files if Path(file).name == _EVIDENCE)
    return Pulled(kernel=kernel, directory=str(directory), files=tuple(files), evidence=tuple(bundles))


def _metadata(request: PushRequest) -> dict[str, Any]:
    """The content of kernel-metadata.json. Kaggle derives the slug from the title."""
    slug, ours = slug_of(request.kernel), _own_metadata(request.notebook)
    shape = ours["machine_shape"]
    return {
        "id": request.kernel,
        "title": slug.replace("-", " "),
        "code_file": "notebook.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_gpu": shape.startswith("Nvidia"),
        "enable_tpu": shape.startswith("Tpu"),
        "enable_internet": True,
        "dataset_sources": list(request.datasets),
        "competition_sources": [],
        "kernel_sources": ours["kernel_sources"],
        "model_sources": list(request.models),
        "machine_shape": shape or None,
    }


def _own_metadata(notebook: Path) -> dict[str, Any]:
    try:
        ours: dict[str, Any] = json.loads(notebook.read_bytes())["metadata"][METADATA_KEY]
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"There is no notebook {notebook}.", next_step="Write it with tunix-rt kaggle notebook RECIPE."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{notebook} is not a notebook that tunix-rt wrote.",
            next_step="Write it with tunix-rt kaggle notebook RECIPE.",
        ) from error
    return ours


def _check_push(kernel: str, answer: Any) -> None:
    kinds = ("dataset", "competition", "kernel", "model")
    refused = [source for kind in kinds for source in getattr(answer, f"invalid_{kind}_sources") or ()]
    if answer.error or refused:
        reason = answer.error or f"not found: {', '.join(refused)}"
        raise KaggleError(
            f"Kaggle rejected {kernel}: {reason}",
            next_step="Check the slug, and the datasets, models and notebooks that it uses.",
        )


def _end_of(client: Any, kernel: str, *, waits: bool, poll_s: float) -> tuple[str, str]:
    """How the last session ended, and Kaggle's message."""
    while True:
        with kaggle_errors(kernel):
            answer = client.kernels_status(kernel)
        status: str = answer.status.name
        if status not in _UNFINISHED:
            return status, answer.failure_message or ""
        if not waits:
            raise KaggleError(
                f"The notebook {kernel} has not ended: {status.lower()}.",
                next_step="Add --wait, or pull again later.",
            )
        time.sleep(poll_s)


def _failed(kernel: str, message: str, directory: Path, *, log: Path) -> KaggleError:
    log_text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if OUT_OF_TIME_TEXT in log_text:
        return KaggleError(
            f"The session of {kernel} ran out of time; its checkpoints are in {directory}.",
            next_step=f"Continue: tunix-rt kaggle notebook RECIPE --continue {kernel}, then push it.",
        )
    reasons = _REASON.findall(log_text)
    return KaggleError(
        f"The notebook {kernel} failed on Kaggle: {reasons[-1] if reasons else message}",
        next_step=f"See {log.name} in {directory} for its output.",
    )
