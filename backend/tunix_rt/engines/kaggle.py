"""Models on Kaggle, by handle: `owner/model/framework/variation[/version]`."""

import os
import re
from pathlib import Path

from tunix_rt.core.errors import InvalidInputError, MissingExtraError, NotFoundError

_HANDLE = re.compile(r"(?P<model>[\w.-]+/[\w.-]+)/(?P<framework>[\w.-]+)/[\w.-]+(/(?P<version>\d+))?")


def download_kaggle_model(handle: str, *, online: bool = True) -> Path:
    """The local directory of a model on Kaggle; a cached version is not fetched again.

    A handle without a version means the newest one, which only Kaggle knows; without `online` it is the
    newest in the cache.

    Raises:
        InvalidInputError: The handle is malformed, its files are not in the Hugging Face layout, or Kaggle
            refuses or cannot be reached.
        MissingExtraError: The files are not cached and kagglehub is not installed.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None or ".." in handle:
        raise InvalidInputError(
            f"{handle!r} is not a Kaggle handle.",
            next_step="Write kaggle:owner/model/transformers/variation, and /version to fix it.",
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
    """Where kagglehub keeps a complete download; without a version, the newest of them."""
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
        raise MissingExtraError("A model from Kaggle", extra="kaggle") from error
    from kagglehub import exceptions

    refusals = (exceptions.CredentialError, exceptions.UnauthenticatedError, exceptions.BackendError)
    try:
        return Path(kagglehub.model_download(handle))
    except (*refusals, exceptions.NotFoundError, ValueError, OSError) as error:
        page = f"https://www.kaggle.com/models/{'/'.join(handle.split('/')[:2])}"
        raise InvalidInputError(
            f"Kaggle did not give the model {handle}: {error}",
            next_step=f"Accept its licence at {page}, set KAGGLE_USERNAME and KAGGLE_KEY, check the handle.",
        ) from error
