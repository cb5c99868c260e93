"""Where a model comes from: built in, a local directory, the Hugging Face Hub or Kaggle."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tunix_rt.base.assets import known_model_configs, shipped_model_config, shipped_model_names
from tunix_rt.base.errors import InvalidInputError, NotFoundError, TunixRTError, did_you_mean
from tunix_rt.base.hub import (
    CONFIG_FILES,
    TOKENIZER_FILES,
    WEIGHT_FILES,
    download_files,
    download_kaggle_model,
    is_hub_id,
)
from tunix_rt.engines.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.types import ModelSection

BUILTIN_TOKENIZER = "tiny"
KAGGLE_PREFIX = "kaggle:"


@dataclass(frozen=True)
class ModelSource:
    """A model that was found."""

    name: str
    """As the recipe names it."""
    architecture: Architecture
    config: Mapping[str, Any] = field(repr=False)
    """The content of its `config.json`."""
    directory: Path | None
    """Where its files lie: the tokenizer, and the weights if they were asked for. None: only its shape is
    known, because it is built in or was asked for without weights."""
    revision: str | None
    """The commit on the hub that `directory` holds."""


def resolve_model(section: ModelSection, *, online: bool = True, needs_weights: bool = True) -> ModelSource:
    """Find the model of a recipe, and download what is missing.

    Args:
        section: what the recipe says. With `weights: random` no weights are needed.
        online: whether the hub may be asked; without it only its local cache is.
        needs_weights: False where the shape is enough, as for a plan.

    Raises:
        NotFoundError: Nothing has this name.
        InvalidInputError: The model is not supported or cannot be had, or the recipe asks it for something
            that it does not have.
    """
    name = section.name
    needs_weights = needs_weights and section.weights == "pretrained"
    if name in shipped_model_names():
        return _built_in(section)
    if name.startswith(KAGGLE_PREFIX):
        _refuse_revision(section, "A Kaggle model has its version in its handle")
        return _from_directory(name, download_kaggle_model(name.removeprefix(KAGGLE_PREFIX), online=online))
    if Path(name).is_dir():
        _refuse_revision(section, f"{name} is a local directory")
        return _from_directory(name, Path(name))
    if is_hub_id(name):
        return _from_hub(section, online=online, needs_weights=needs_weights)
    raise NotFoundError(
        f"There is no model {name!r}: it is not built in, not a directory and not a hub id.",
        next_step=did_you_mean(name, [*shipped_model_names(), *known_model_configs()]),
    )


def tokenizer_source(section: ModelSection, source: ModelSource, *, online: bool = True) -> str:
    """What `load_tokenizer` is given: the recipe's tokenizer, else the model's own."""
    if section.tokenizer is not None:
        return section.tokenizer
    if section.name in shipped_model_names():
        return BUILTIN_TOKENIZER
    if source.directory is not None:
        return str(source.directory)
    return str(download_files(section.name, TOKENIZER_FILES, revision=section.revision, online=online))


def _built_in(section: ModelSection) -> ModelSource:
    _refuse_revision(section, f"{section.name} is built in")
    if section.weights == "pretrained":
        raise InvalidInputError(
            f"The built-in model {section.name} has no pretrained weights.",
            next_step="Set model.weights: random.",
        )
    return _shape_only(section.name, shipped_model_config(section.name))


def _from_hub(section: ModelSection, *, online: bool, needs_weights: bool) -> ModelSource:
    known = known_model_configs()
    if not needs_weights and section.name in known:
        return _shape_only(section.name, known[section.name])
    wanted = CONFIG_FILES + TOKENIZER_FILES + (WEIGHT_FILES if needs_weights else ())
    try:
        directory = download_files(section.name, wanted, revision=section.revision, online=online)
    except TunixRTError as error:
        close = [] if section.name in known else get_close_matches(section.name, known, n=1, cutoff=0.8)
        if close:
            error.next_step = f"Did you mean '{close[0]}'? Else: {error.next_step}"
        raise
    return _from_directory(section.name, directory, revision=directory.name)


def _from_directory(name: str, directory: Path, *, revision: str | None = None) -> ModelSource:
    config = _read_config(name, directory / "config.json")
    return ModelSource(name, architecture_from_config(config), config, directory, revision)


def _shape_only(name: str, config: dict[str, Any]) -> ModelSource:
    return ModelSource(name, architecture_from_config(config), config, directory=None, revision=None)


def _read_config(name: str, path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise NotFoundError(
            f"{name} has no config.json.",
            next_step="Pass a directory in the Hugging Face layout (save_pretrained writes it).",
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"The config.json of {name} cannot be read: {error}",
            next_step="Download or save the model again.",
        ) from error
    if not isinstance(config, dict):
        raise InvalidInputError(
            f"The config.json of {name} is not a JSON object.", next_step="Download or save the model again."
        )
    return config


def _refuse_revision(section: ModelSection, reason: str) -> None:
    if section.revision is not None:
        raise InvalidInputError(
            f"{reason}, so model.revision cannot be honoured.", next_step="Remove model.revision."
        )
