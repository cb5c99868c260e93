"""Push and pull through Kaggle's client."""

import io
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
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
            raise NotFoundError(
                f"There is no notebook {kernel} on Kaggle.",
                next_step="Take OWNER/SLUG from its URL: kaggle.com/code/OWNER/SLUG.",
            ) from error
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


_POLL_S = 30.0
_UNFINISHED = ("QUEUED", "RUNNING", "NEW_SCRIPT", "CANCEL_REQUESTED")
_REASON = re.compile(r"error: (.*?)(?:\\n|\n|\")")


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


def push_kernel(
    notebook: Path, kernel: str, datasets: Sequence[str] = (), models: Sequence[str] = ()
) -> Pushed:
    """Send a notebook to its address on Kaggle, which runs it with these datasets and models attached.

    Raises:
        InvalidInputError: It is not a notebook of ours, the address is malformed, or Kaggle denies access.
        KaggleError: Kaggle is unreachable or rejects it.
    """
    metadata = _metadata(notebook, kernel, datasets, models)
    client = open_client()
    with tempfile.TemporaryDirectory(prefix="tunix-rt-kaggle-") as directory:
        folder = Path(directory)
        (folder / metadata["code_file"]).write_bytes(notebook.read_bytes())
        (folder / "kernel-metadata.json").write_text(json.dumps(metadata, indent=1), encoding="utf-8")
        with kaggle_errors(kernel):
            answer = client.kernels_push(directory)
    kinds = ("dataset", "competition", "kernel", "model")
    refused = [source for kind in kinds for source in getattr(answer, f"invalid_{kind}_sources") or ()]
    if answer.error or refused:
        reason = answer.error or f"not found: {', '.join(refused)}"
        raise KaggleError(
            f"Kaggle rejected {kernel}: {reason}",
            next_step="Check the slug, and the datasets, models and notebooks that it uses.",
        )
    return Pushed(kernel=kernel, url=answer.url, version=answer.version_number)


def pull_kernel(kernel: str, to: Path | None, *, waits: bool) -> Pulled:
    """Fetch the output and the log of the last session of a notebook.

    Raises:
        KaggleError: It has not ended, or it failed; the output of a failed one is downloaded too.
    """
    slug = slug_of(kernel)
    directory = to or Path(slug)
    client = open_client()
    while True:
        with kaggle_errors(kernel):
            answer = client.kernels_status(kernel)
        status: str = answer.status.name
        if status not in _UNFINISHED:
            break
        if not waits:
            raise KaggleError(
                f"The notebook {kernel} has not ended: {status.lower()}.",
                next_step="Add --wait, or pull again later.",
            )
        time.sleep(_POLL_S)
    with kaggle_errors(kernel):
        files, _ = client.kernels_output(kernel, str(directory))
    if status != "COMPLETE":
        log = directory / f"{slug}.log"
        log_text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        if OUT_OF_TIME_TEXT in log_text:
            raise KaggleError(
                f"The session of {kernel} ran out of time; its checkpoints are in {directory}.",
                next_step=f"Continue: tunix-rt kaggle notebook RECIPE --continue {kernel}, then push it.",
            )
        reasons = _REASON.findall(log_text)
        raise KaggleError(
            f"The notebook {kernel} failed on Kaggle: "
            f"{reasons[-1] if reasons else answer.failure_message or status.lower()}",
            next_step=f"See {log.name} in {directory} for its output.",
        )
    bundles = sorted(str(Path(file).parent) for file in files if Path(file).name == "evidence.json")
    return Pulled(kernel=kernel, directory=str(directory), files=tuple(files), evidence=tuple(bundles))


def _metadata(notebook: Path, kernel: str, datasets: Sequence[str], models: Sequence[str]) -> dict[str, Any]:
    """The content of kernel-metadata.json. Kaggle derives the slug from the title."""
    slug, next_step = slug_of(kernel), "Write it with tunix-rt kaggle notebook RECIPE."
    try:
        ours: dict[str, Any] = json.loads(notebook.read_bytes())["metadata"][METADATA_KEY]
    except FileNotFoundError as error:
        raise InvalidInputError(f"There is no notebook {notebook}.", next_step=next_step) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"{notebook} is not a notebook that tunix-rt wrote.", next_step=next_step
        ) from error
    shape = ours["machine_shape"]
    return {
        "id": kernel,
        "title": slug.replace("-", " "),
        "code_file": "notebook.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_gpu": shape.startswith("Nvidia"),
        "enable_tpu": shape.startswith("Tpu"),
        "enable_internet": True,
        "dataset_sources": list(datasets),
        "competition_sources": [],
        "kernel_sources": ours["kernel_sources"],
        "model_sources": list(models),
        "machine_shape": shape or None,
    }
