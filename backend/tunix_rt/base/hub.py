"""Downloads from the Hugging Face Hub and from Kaggle, with errors that say what to do."""

import errno
import os
import re
from pathlib import Path

from tunix_rt.base.errors import (
    InvalidInputError,
    MissingExtraError,
    NotFoundError,
    StorageError,
    TunixRTError,
)

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)
CONFIG_FILES = ("config.json", "generation_config.json")
WEIGHT_FILES = ("model*.safetensors", "model.safetensors.index.json")

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
# A component starts with a letter, a digit or an underscore: neither an absolute path nor "..".
_REVISION = re.compile(r"\w[\w.+@-]*(/\w[\w.+@-]*)*", re.ASCII)
_MAX_REVISION_CHARS = 200


def is_hub_id(text: str) -> bool:
    """Whether `text` has the form `owner/name`."""
    return _HUB_ID.fullmatch(text) is not None and ".." not in text and len(text) <= 96


def is_revision(text: str) -> bool:
    """Whether `text` has the form of a branch, a tag or a commit.

    Example:
        "main", "refs/pr/3", "3f9c2a1" -> True; "/dev/zero", "../main", "a//b" -> False
    """
    return _REVISION.fullmatch(text) is not None and ".." not in text and len(text) <= _MAX_REVISION_CHARS


def local_directory(name: str) -> Path | None:
    """The directory of a model or tokenizer whose name is its path; None if it is none.

    `owner/name` is always a hub id, whatever the working directory contains; `./owner/name` is a path.
    """
    # os.path, not Path: Path raises for a name that is too long to be a path.
    return Path(name) if name and not is_hub_id(name) and os.path.isdir(name) else None


def absolute_if_directory(name: str) -> str:
    """The absolute path of a directory; any other name unchanged. For the command line only.

    There, `owner/name` is a directory if the working directory contains it.
    """
    return os.path.abspath(name) if name and os.path.isdir(name) else name


def download_files(
    hub_id: str, patterns: tuple[str, ...], *, revision: str | None = None, online: bool = True
) -> Path:
    """Download files of a hub repository, or find them in the cache; the directory is named by its commit.

    Without `online`, only the cache is used.

    Raises:
        NotFoundError: The repository or the revision does not exist.
        InvalidInputError: The revision is malformed, the repository is gated, or the hub cannot be reached.
        StorageError: The disk is full.
    """
    # The hub client makes them parts of paths and opens the result.
    require_revision(revision)
    if not is_hub_id(hub_id):
        raise InvalidInputError(f"{hub_id!r} is not a hub id.", next_step="Write it as owner/name.")
    # Imported here because it is slow to import and only downloads need it.
    from huggingface_hub import snapshot_download

    # The error class of whichever HTTP library this version of the hub client uses.
    from huggingface_hub.errors import HFValidationError, HTTPError  # type: ignore[attr-defined]

    try:
        return Path(
            snapshot_download(
                hub_id, revision=revision, allow_patterns=list(patterns), local_files_only=not online
            )
        )
    except (HTTPError, HFValidationError, OSError) as error:
        raise _explained(hub_id, revision, error) from error


def require_revision(revision: str | None) -> None:
    """Refuse a revision that cannot be one.

    Raises:
        InvalidInputError: It does not have the form of a branch, a tag or a commit.
    """
    if revision is not None and not is_revision(revision):
        raise InvalidInputError(
            f"model.revision {revision!r} is not the name of a branch, a tag or a commit.",
            next_step="Correct it, or leave it out to take the default branch.",
        )


def _explained(hub_id: str, revision: str | None, error: Exception) -> TunixRTError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, GatedRepoError):
        return InvalidInputError(
            f"{hub_id} is gated: its licence must be accepted first.",
            next_step=f"Accept it at https://huggingface.co/{hub_id}, then set HF_TOKEN.",
        )
    if isinstance(error, RepositoryNotFoundError):
        return NotFoundError(
            f"The Hugging Face Hub has no repository {hub_id} that you can access.",
            next_step="Check the spelling; for a private repository set HF_TOKEN.",
        )
    if isinstance(error, RevisionNotFoundError):
        return NotFoundError(
            f"{hub_id} has no branch, tag or commit {revision!r}.",
            next_step="Correct model.revision, or leave it out to take the default branch.",
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return StorageError(
            f"The disk is full: {hub_id} could not be downloaded.",
            next_step="Free space, or point HF_HOME to a larger disk; then run the command again.",
        )
    return InvalidInputError(
        f"{hub_id} is not in the local cache and the hub cannot be reached ({type(error).__name__}).",
        next_step="Connect to the internet and unset HF_HUB_OFFLINE, or pass a local directory "
        "or the name of something built in.",
    )


_HANDLE = re.compile(
    r"(?P<model>[\w.-]+/[\w.-]+)/(?P<framework>[\w.-]+)/[\w.-]+(/(?P<version>\d+))?", re.ASCII
)


def is_kaggle_handle(text: str) -> bool:
    """Whether `text` has the form `owner/model/framework/variation`, with or without a version."""
    return _HANDLE.fullmatch(text) is not None and ".." not in text


def download_kaggle_model(handle: str, *, online: bool = True) -> Path:
    """Download a model from Kaggle, or find it in the cache.

    A handle without a version means the newest version on Kaggle, or without `online` the newest in the
    cache.

    Raises:
        InvalidInputError: The handle is malformed, its files are not in the Hugging Face layout, or Kaggle
            refuses or cannot be reached.
        MissingExtraError: The files are not cached and kagglehub is not installed.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None or not is_kaggle_handle(handle):
        raise InvalidInputError(
            f"{handle!r} is not a Kaggle handle.",
            next_step="Write kaggle:owner/model/transformers/variation, and /version to pin it.",
        )
    if match["framework"].lower() != "transformers":
        raise InvalidInputError(
            f"The {match['framework']} files of {match['model']} are not in the Hugging Face layout.",
            next_step=f"Use the variation under kaggle:{match['model']}/transformers/…",
        )
    cached = _cached_version(handle, match["version"])
    is_certain = match["version"] is not None or not online
    return cached if cached is not None and is_certain else _download(handle, online=online)


def _cached_version(handle: str, version: str | None) -> Path | None:
    """The directory of a complete download in kagglehub's cache; without a version, the newest."""
    root = Path(os.environ.get("KAGGLEHUB_CACHE") or Path.home() / ".cache" / "kagglehub") / "models"
    variation = root / (handle if version is None else handle.rpartition("/")[0])
    # kagglehub writes this marker after the last file.
    markers = variation.glob(f"{version or '*'}.complete")
    versions = [int(marker.stem) for marker in markers if marker.stem.isdigit()]
    return variation / str(max(versions)) if versions else None


def _download(handle: str, *, online: bool) -> Path:
    if not online:
        raise NotFoundError(
            f"The Kaggle model {handle} is not in the local cache.",
            next_step="Connect to the internet, or pass the directory that holds its files.",
        )
    try:
        import kagglehub
    except ImportError as error:
        raise MissingExtraError("Downloading a model from Kaggle", extra="kaggle") from error
    from kagglehub import exceptions

    refusals = (exceptions.CredentialError, exceptions.UnauthenticatedError, exceptions.BackendError)
    try:
        return Path(kagglehub.model_download(handle))
    except (*refusals, exceptions.NotFoundError, ValueError, OSError) as error:
        page = f"https://www.kaggle.com/models/{'/'.join(handle.split('/')[:2])}"
        raise InvalidInputError(
            f"The model {handle} could not be downloaded from Kaggle: {error}",
            next_step=f"Accept its licence at {page}, set KAGGLE_USERNAME and KAGGLE_KEY, check the handle.",
        ) from error
