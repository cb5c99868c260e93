"""Resolving models; their tokenizers, stop tokens and weight hashes."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from tunix_rt.base.assets import (
    known_model_configs,
    shipped_model_config,
    shipped_model_names,
    shipped_tokenizer_names,
)
from tunix_rt.base.errors import DataError, InvalidInputError, NotFoundError, TunixRTError, did_you_mean
from tunix_rt.base.hub import (
    CONFIG_FILES,
    TOKENIZER_FILES,
    WEIGHT_FILES,
    absolute_if_directory,
    download_files,
    download_kaggle_model,
    is_hub_id,
    local_directory,
)
from tunix_rt.engines.weights.architecture import Architecture, architecture_from_config
from tunix_rt.recipes.load import ResolvedRecipe
from tunix_rt.recipes.types import ModelSection
from tunix_rt.tokenization.encoding import EncodedExample, TraceEncoder
from tunix_rt.tokenization.tokenizer import Tokenizer, load_tokenizer

BUILTIN_TOKENIZER = "tiny"
KAGGLE_PREFIX = "kaggle:"


@dataclass(frozen=True)
class ModelSource:
    """A resolved model."""

    name: str
    """The name in the recipe."""
    architecture: Architecture
    config: Mapping[str, Any] = field(repr=False)
    """The content of its `config.json`."""
    directory: Path | None
    """The directory of the tokenizer and, if requested, the weights. None: only the architecture is known,
    because the model is built in or was requested without weights."""
    revision: str | None
    """The hub commit of `directory`."""


def resolve_model(section: ModelSection, *, online: bool = True, needs_weights: bool = True) -> ModelSource:
    """Resolve the model of a recipe, and download missing files.

    Args:
        section: The model section of the recipe. With `weights: random`, no weights are needed.
        online: Whether the hub may be queried; otherwise only its local cache is.
        needs_weights: False where the architecture is enough, as for a plan.

    Raises:
        NotFoundError: There is no model with this name.
        InvalidInputError: The model is unsupported or unavailable, or lacks something that the recipe
            requires.
    """
    name = section.name
    needs_weights = needs_weights and section.weights == "pretrained"
    if name in shipped_model_names():
        _refuse_revision(section, f"{name} is built in")
        if section.weights == "pretrained":
            raise InvalidInputError(
                f"The built-in model {name} has no pretrained weights.",
                next_step="Set model.weights: random.",
            )
        return _shape_only(name, shipped_model_config(name))
    if name.startswith(KAGGLE_PREFIX):
        _refuse_revision(section, "A Kaggle model has its version in its handle")
        return _from_directory(name, download_kaggle_model(name.removeprefix(KAGGLE_PREFIX), online=online))
    if (directory := local_directory(name)) is not None:
        _refuse_revision(section, f"{name} is a local directory")
        return _from_directory(name, directory)
    if is_hub_id(name):
        return _from_hub(section, online=online, needs_weights=needs_weights)
    raise NotFoundError(
        f"There is no model {name!r}: it is not built in, not a directory and not a hub id.",
        next_step=did_you_mean(name, [*shipped_model_names(), *known_model_configs()]),
    )


def with_absolute_paths(resolved: ResolvedRecipe) -> ResolvedRecipe:
    """The recipe with the directories of its model and tokenizer as absolute paths.

    For the command line only: elsewhere `owner/name` is a hub id, and nobody knows the working directory.
    """
    section = resolved.recipe.model
    names = {"name": _located(section.name, shipped_model_names())}
    if section.tokenizer is not None:
        names["tokenizer"] = _located(section.tokenizer, shipped_tokenizer_names())
    model = section.model_copy(update=names)
    recipe = resolved.recipe.model_copy(update={"model": model})
    return resolved.model_copy(update={"recipe": recipe})


def _located(name: str, built_in: Collection[str]) -> str:
    return name if name in built_in or name.startswith(KAGGLE_PREFIX) else absolute_if_directory(name)


def tokenizer_source(section: ModelSection, source: ModelSource, *, online: bool = True) -> str:
    """The argument of `load_tokenizer`: the recipe's tokenizer, else the model's own."""
    if section.tokenizer is not None:
        return section.tokenizer
    if section.name in shipped_model_names():
        return BUILTIN_TOKENIZER
    if source.directory is not None:
        return str(source.directory)
    return str(download_files(section.name, TOKENIZER_FILES, revision=section.revision, online=online))


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
    path = directory / "config.json"
    if not path.is_file():
        raise NotFoundError(
            f"{name} has no config.json.",
            next_step="Pass a directory in the Hugging Face layout (save_pretrained writes it).",
        )
    config = _read_json(path, f"The config.json of {name}")
    if not isinstance(config, dict):
        raise InvalidInputError(
            f"The config.json of {name} is not a JSON object.", next_step="Download or save the model again."
        )
    return ModelSource(name, architecture_from_config(config), config, directory, revision)


def _shape_only(name: str, config: dict[str, Any]) -> ModelSource:
    return ModelSource(name, architecture_from_config(config), config, directory=None, revision=None)


def _read_json(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{what} cannot be read: {error}", next_step="Download or save the model again."
        ) from error


def _refuse_revision(section: ModelSection, reason: str) -> None:
    if section.revision is not None:
        raise InvalidInputError(
            f"{reason}, so model.revision cannot be used.", next_step="Remove model.revision."
        )


def check_vocabulary(tokenizer: Tokenizer, architecture: Architecture) -> None:
    """Reject a tokenizer that produces ids without an embedding in the model.

    Control tokens beyond the vocabulary are allowed, as text never produces them: Gemma 3's tokenizer has
    `<image_soft_token>`, id 262144, for which its text model has no row. `require_known_ids` rejects examples
    in which a template writes one.

    Raises:
        DataError: The vocabulary of the tokenizer is larger than the model's.
    """
    beyond = {
        token_id: text
        for token_id, text in _texts_by_id(tokenizer).items()
        if token_id >= architecture.vocab_size
        and (token_id not in tokenizer.control_token_ids or token_id == tokenizer.pad_id)
    }
    if beyond:
        first = min(beyond)
        raise DataError(
            f"The tokenizer {tokenizer.name} is not the model's: it has {len(beyond)} tokens beyond the "
            f"{architecture.vocab_size} that the model knows, the first of them {beyond[first]!r} ({first}).",
            next_step="Leave model.tokenizer out to use the model's own.",
        )


def require_known_ids(
    examples: Iterable[EncodedExample], tokenizer: Tokenizer, architecture: Architecture
) -> Iterator[EncodedExample]:
    """Pass the examples through, checking that the model has an embedding for every id.

    Raises:
        DataError: An example holds an id outside the model's vocabulary.
    """
    for example in examples:
        largest_id = int(example.token_ids.max(initial=0))
        if largest_id >= architecture.vocab_size:
            text = tokenizer.fast.id_to_token(largest_id)
            raise DataError(
                f"The rows contain the token {text!r} ({largest_id}), but the model has ids up to "
                f"{architecture.vocab_size - 1}.",
                next_step="Choose another data.chat_template, or use the model's own tokenizer.",
            )
        yield example


def check_same_tokens(tokenizer: Tokenizer, own: Tokenizer) -> None:
    """Reject a tokenizer whose ids differ from those of the tokenizer that the weights were trained with.

    Added tokens are allowed: the ids of the model's own tokenizer must mean the same in both.

    Raises:
        DataError: An id stands for different texts.
    """
    texts, own_texts = _texts_by_id(tokenizer), _texts_by_id(own)
    differing = [token_id for token_id in texts.keys() & own_texts if texts[token_id] != own_texts[token_id]]
    if differing:
        first = min(differing)
        raise DataError(
            f"The tokenizer {tokenizer.name} is not the model's: {len(differing)} ids stand for other texts; "
            f"{first} is {texts[first]!r}, the weights were trained with {own_texts[first]!r}.",
            next_step="Leave model.tokenizer out to use the model's own.",
        )


def _texts_by_id(tokenizer: Tokenizer) -> dict[int, str]:
    return {token_id: text for text, token_id in tokenizer.fast.get_vocab(with_added_tokens=True).items()}


def load_model_tokenizer(section: ModelSection, source: ModelSource) -> Tokenizer:
    """The tokenizer in the section, else the model's own.

    Raises:
        NotFoundError: There is none.
        DataError: It does not match the weights.
    """
    tokenizer = load_tokenizer(tokenizer_source(section, source))
    check_vocabulary(tokenizer, source.architecture)
    directory = source.directory
    if section.tokenizer is None or section.weights == "random" or directory is None:
        return tokenizer
    if (directory / "tokenizer.json").is_file():
        check_same_tokens(tokenizer, load_tokenizer(str(directory)))
    return tokenizer


def stop_token_ids(source: ModelSource, encoder: TraceEncoder) -> frozenset[int]:
    """The end-of-turn token of training, and the end tokens of the model and its tokenizer.

    Raises:
        InvalidInputError: The model's `generation_config.json` is damaged.
    """
    tokenizer = encoder.tokenizer
    candidates = [encoder.end_of_turn_id, tokenizer.token_id(tokenizer.named_tokens.get("eos_token", ""))]
    candidates += _ends_in(source.config)
    path = source.directory / "generation_config.json" if source.directory is not None else None
    if path is not None and path.is_file():
        settings = _read_json(path, str(path))
        candidates += _ends_in(settings) if isinstance(settings, dict) else []
    return frozenset(token_id for token_id in candidates if token_id is not None)


def _ends_in(config: Mapping[str, Any]) -> Iterator[int]:
    """`eos_token_id` is a number or a list of them."""
    value = config.get("eos_token_id")
    yield from (end for end in (value if isinstance(value, list) else [value]) if isinstance(end, int))


_CHUNK_BYTES = 1 << 22

OnFraction = Callable[[float], None]
"""Called with the fraction of the bytes read."""


class WeightsDigest(NamedTuple):
    """Hashes of the safetensors files of a model, and of its adapter."""

    total: str
    """SHA-256 over all of them."""
    files: dict[str, str]
    """Name -> SHA-256 of each file, e.g. `model/model.safetensors`."""


def weights_digest(directories: Mapping[str, Path], on_fraction: OnFraction) -> WeightsDigest | None:
    """Hash the safetensors files of a model, and of its adapter; None when there are none.

    Args:
        directories: Directories by content, e.g. `{"model": …, "adapter": …}`.
        on_fraction: Called after every few megabytes.
    """
    files = {
        f"{part}/{path.name}": path
        for part, directory in sorted(directories.items())
        for path in sorted(directory.glob("*.safetensors"))
    }
    num_bytes = sum(path.stat().st_size for path in files.values())
    total, num_read, by_file = hashlib.sha256(), 0, {}
    for name, path in files.items():
        total.update(f"{name} {path.stat().st_size}\n".encode())
        own = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                total.update(chunk)
                own.update(chunk)
                num_read += len(chunk)
                on_fraction(num_read / num_bytes)
        by_file[name] = own.hexdigest()
    return WeightsDigest(total.hexdigest(), by_file) if files else None


def weights_hash(directories: Mapping[str, Path], on_fraction: OnFraction) -> str | None:
    """The hash over all files of `weights_digest`."""
    digest = weights_digest(directories, on_fraction)
    return None if digest is None else digest.total
