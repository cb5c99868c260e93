"""Models and tokenizers that clients of the server may name: one check for every route that takes one.

A client's name never reaches the file system. It is one of these, and anything else is refused with the same
error, whether or not a file of that name exists:

built-in       a name from the package
hub            `owner/name`, with a branch, a tag or a commit as its revision
Kaggle         `kaggle:owner/model/framework/variation`
registered     `name@alias` or `name:version`; models only
directory      the absolute path of a directory inside one of TUNIX_RT_MODEL_DIRS
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from tunix_rt.base.assets import shipped_model_names, shipped_tokenizer_names
from tunix_rt.base.errors import InvalidInputError, did_you_mean
from tunix_rt.base.hub import is_hub_id, is_kaggle_handle, require_revision
from tunix_rt.base.settings import Settings
from tunix_rt.engines.weights.sources import KAGGLE_PREFIX
from tunix_rt.models.types import is_reference
from tunix_rt.recipes.types import ModelSection


def require_client_section(
    settings: Settings, section: ModelSection, *, trusted: ModelSection | None = None
) -> None:
    """Refuse a model section that names a path.

    Args:
        settings: With the directories that clients may use.
        section: The section, with the client's changes.
        trusted: The section of the recipe that is stored on the server: what the client did not change may
            be a path.

    Raises:
        InvalidInputError: A name is not one that a client may use.
    """
    if trusted is None or section.name != trusted.name:
        require_client_model(settings, section.name)
    if section.tokenizer is not None and (trusted is None or section.tokenizer != trusted.tokenizer):
        _require(settings, "model.tokenizer", section.tokenizer, shipped_tokenizer_names())
    require_revision(section.revision)


def require_client_model(settings: Settings, name: str, *, key: str = "model.name") -> None:
    """Refuse the name of a model that is a path.

    Raises:
        InvalidInputError: It is not one that a client may use.
    """
    if not is_reference(name):
        _require(settings, key, name, shipped_model_names())


def _require(settings: Settings, key: str, name: str, built_in: Collection[str]) -> None:
    is_known = name in built_in or is_hub_id(name)
    if is_known or _is_kaggle(name) or is_inside(settings.model_dirs, name):
        return
    raise InvalidInputError(
        f"{key} {name!r} is not built in, not a hub id and not a registered model.",
        next_step=f"{did_you_mean(name, built_in)} A directory can be trained from with tunix-rt train "
        "or, on the server itself, tunix-rt runs submit; clients can name those in TUNIX_RT_MODEL_DIRS.",
    )


def _is_kaggle(name: str) -> bool:
    return name.startswith(KAGGLE_PREFIX) and is_kaggle_handle(name.removeprefix(KAGGLE_PREFIX))


def is_inside(directories: Iterable[Path], name: str) -> bool:
    """Whether a name is the absolute path of a directory inside one of these, links resolved.

    The file system is asked only about paths that lie inside one of them as they are written.
    """
    if "\x00" in name or not os.path.isabs(name) or os.path.normpath(name) != name:
        return False
    for directory in directories:
        if Path(name).is_relative_to(directory) and os.path.isdir(name):
            return Path(name).resolve().is_relative_to(directory.resolve())
    return False
