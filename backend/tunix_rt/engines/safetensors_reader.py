"""Tensors of a model directory, read piece by piece: `model.safetensors`, or shards with an index."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from tunix_rt.base.errors import DataError
from tunix_rt.engines.tensor_names import INDEX_FILE, SINGLE_FILE

Framework = Literal["numpy", "pt"]
"""Who gets the tensors: numpy (which knows bfloat16 once ml_dtypes is imported) or torch."""


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor on disk; nothing is read before `read` is called."""

    name: str
    path: Path
    format: str
    """`F32`, `BF16`, `I8`, … as safetensors writes it."""
    shape: tuple[int, ...]
    slices: Any
    """What safetensors gives: indexing it reads only that part."""

    def read(self, *index: slice) -> Any:
        """A part of the tensor in its stored format, as an array of the framework it was opened for.

        The whole of it without an index.
        """
        try:
            return self.slices[index or (slice(None),)]
        except (SafetensorError, OSError) as error:
            raise damaged_file(self.path, f"tensor {self.name}: {error}") from error


@contextmanager
def open_tensors(directory: Path, framework: Framework = "numpy") -> Iterator[Mapping[str, StoredTensor]]:
    """The tensors of a model directory by name.

    Raises:
        DataError: A file is missing, truncated or not safetensors; it is named.
    """
    with ExitStack() as stack:
        tensors: dict[str, StoredTensor] = {}
        for path in _weight_files(directory):
            tensors |= _open_file(path, stack, framework)
        yield tensors


@contextmanager
def open_tensor_file(path: Path, framework: Framework = "numpy") -> Iterator[Mapping[str, StoredTensor]]:
    """The tensors of one safetensors file by name."""
    with ExitStack() as stack:
        yield _open_file(path, stack, framework)


def damaged_file(path: Path, reason: str) -> DataError:
    """The error of a file that cannot be used."""
    return DataError(
        f"{path.name} in {path.parent} is damaged: {reason}.",
        next_step="Download or save it again; nothing was loaded.",
    )


def _open_file(path: Path, stack: ExitStack, framework: Framework) -> dict[str, StoredTensor]:
    try:
        file = stack.enter_context(safe_open(path, framework=framework))
        slices = {name: file.get_slice(name) for name in file.keys()}
        return {name: _stored_tensor(name, path, part) for name, part in slices.items()}
    except FileNotFoundError as error:
        raise _missing_file(path) from error
    except (SafetensorError, OSError) as error:
        raise damaged_file(path, str(error)) from error


def _stored_tensor(name: str, path: Path, slices: Any) -> StoredTensor:
    return StoredTensor(name, path, slices.get_dtype(), tuple(slices.get_shape()), slices)


def _weight_files(directory: Path) -> list[Path]:
    if (directory / INDEX_FILE).is_file():
        return [directory / name for name in _indexed_files(directory / INDEX_FILE)]
    if (directory / SINGLE_FILE).is_file():
        return [directory / SINGLE_FILE]
    raise _no_weights(directory)


def _indexed_files(path: Path) -> list[str]:
    try:
        names = sorted(set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged_file(path, f"it has no weight_map that can be read ({error})") from error
    for name in names:
        # A name that leaves the directory would read somebody else's file.
        if not isinstance(name, str) or Path(name).name != name:
            raise damaged_file(path, f"it names {name!r}, which is not a file beside it")
    return names


def _missing_file(path: Path) -> DataError:
    return DataError(
        f"{path.parent} has no {path.name}.",
        next_step="Download the model again: a file of its weights is missing.",
    )


def _no_weights(directory: Path) -> DataError:
    if (directory / "adapter_config.json").is_file():
        return DataError(
            f"{directory} holds a LoRA adapter, not a model.",
            next_step="Name its base model, or export it with output.merge_adapters: true.",
        )
    return DataError(
        f"{directory} has no {SINGLE_FILE} and no {INDEX_FILE}.",
        next_step="Save the weights as safetensors (save_pretrained does), or set model.weights: random.",
    )
