"""Streaming safetensors reader and writer; checks that all tensors are present.

    8 bytes        length of the header
    header         JSON: name -> format, shape, byte offsets
    tensors        one after the other, in the order of the header

The safetensors library writes a dictionary of all tensors at once; this writer fetches one at a time.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from tunix_rt.base.errors import DataError
from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.engines.weights.architecture import (
    INDEX_FILE,
    SINGLE_FILE,
    Architecture,
    param_shapes,
    weight_mappings,
)

Framework = Literal["numpy", "pt"]
"""The framework of the tensors: numpy (with bfloat16 once ml_dtypes is imported) or torch."""


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor on disk; nothing is read before `read` is called."""

    name: str
    path: Path
    format: str
    """`F32`, `BF16`, `I8`, … as safetensors writes it."""
    shape: tuple[int, ...]
    slices: Any
    """The slice object of safetensors; indexing it reads only that part."""

    def read(self, *index: slice) -> Any:
        """The tensor, or the indexed part of it, in its stored format and the framework of the file."""
        try:
            return self.slices[index or (slice(None),)]
        except (SafetensorError, OSError) as error:
            raise damaged_file(self.path, f"tensor {self.name}: {error}") from error


@contextmanager
def open_tensors(directory: Path, framework: Framework = "numpy") -> Iterator[Mapping[str, StoredTensor]]:
    """The tensors of a model directory by name.

    Raises:
        DataError: A file, which it names, is missing, truncated or not safetensors.
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
    """The error of a damaged file."""
    return DataError(
        f"{path.name} in {path.parent} is damaged: {reason}.",
        next_step="Download or save it again; nothing was loaded.",
    )


def _open_file(path: Path, stack: ExitStack, framework: Framework) -> dict[str, StoredTensor]:
    try:
        file = stack.enter_context(safe_open(path, framework=framework))
        slices = {name: file.get_slice(name) for name in file.keys()}
        return {
            name: StoredTensor(name, path, part.get_dtype(), tuple(part.get_shape()), part)
            for name, part in slices.items()
        }
    except FileNotFoundError as error:
        raise DataError(
            f"{path.parent} has no {path.name}.",
            next_step="Download the model again: a file of its weights is missing.",
        ) from error
    except (SafetensorError, OSError) as error:
        raise damaged_file(path, str(error)) from error


def _weight_files(directory: Path) -> list[Path]:
    index = directory / INDEX_FILE
    if not index.is_file():
        if (directory / SINGLE_FILE).is_file():
            return [directory / SINGLE_FILE]
        if (directory / "adapter_config.json").is_file():
            raise DataError(
                f"{directory} holds a LoRA adapter, not a model.",
                next_step="Name its base model, or export it with output.merge_adapters: true.",
            )
        raise DataError(
            f"{directory} has no {SINGLE_FILE} and no {INDEX_FILE}.",
            next_step="Save the weights as safetensors (save_pretrained does), or set model.weights: random.",
        )
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged_file(index, f"its weight_map cannot be read ({error})") from error
    for name in names:
        # A name with a path would read a file outside the directory.
        if not isinstance(name, str) or Path(name).name != name:
            raise damaged_file(index, f"it names {name!r}, which is not a file in the same directory")
    return [directory / name for name in names]


MAX_SHARD_BYTES = 4 * 1024**3
FORMATS = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "int64": "I64", "int32": "I32"}
"""The safetensors names of the formats that we write."""
_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4}
_HEADER_ALIGNMENT = 8


@dataclass(frozen=True, eq=False)
class LazyTensor:
    """A tensor of known size whose values are fetched when it is written."""

    name: str
    shape: tuple[int, ...]
    format: str
    """`F32`, `BF16`, … as safetensors names it."""
    fetch: Callable[[], NDArray[Any]]
    """Returns an array of these bytes; numpy need not know the number format."""

    @property
    def num_bytes(self) -> int:
        """Bytes on disk."""
        return math.prod(self.shape) * _BYTES[self.format]


def write_model_files(
    directory: Path, tensors: Sequence[LazyTensor], *, max_shard_bytes: int = MAX_SHARD_BYTES
) -> None:
    """Write `model.safetensors`, or numbered shards with their index if one file would be too large."""
    shards = list(_shards(tensors, max_shard_bytes))
    if len(shards) == 1:
        write_tensor_file(directory / SINGLE_FILE, shards[0])
        return
    file_of_tensor: dict[str, str] = {}
    for number, shard in enumerate(shards, start=1):
        file_name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        write_tensor_file(directory / file_name, shard)
        file_of_tensor |= {tensor.name: file_name for tensor in shard}
    num_bytes = sum(tensor.num_bytes for tensor in tensors)
    index = {"metadata": {"total_size": num_bytes}, "weight_map": file_of_tensor}
    write_json_atomically(directory / INDEX_FILE, index, what="writing the model")


def write_tensor_file(path: Path, tensors: Sequence[LazyTensor]) -> None:
    """Write one safetensors file, fetching one tensor at a time."""
    # Libraries reject a file without the framework of its layout; "pt" is the one they expect.
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for tensor in tensors:
        end = start + tensor.num_bytes
        offsets = [start, end]
        header[tensor.name] = {"dtype": tensor.format, "shape": list(tensor.shape), "data_offsets": offsets}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _HEADER_ALIGNMENT)
    with storage_errors(f"writing {path.name}"), path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors:
            # bfloat16 has no Python buffer format.
            content = np.ascontiguousarray(tensor.fetch()).reshape(-1).view(np.uint8)
            assert content.nbytes == tensor.num_bytes, tensor.name
            file.write(content.data)
        file.flush()
        os.fsync(file.fileno())


def _shards(tensors: Sequence[LazyTensor], max_shard_bytes: int) -> Iterator[list[LazyTensor]]:
    """Consecutive tensors, as many as fit; a larger tensor gets a shard of its own."""
    shard: list[LazyTensor] = []
    num_bytes = 0
    for tensor in tensors:
        if shard and num_bytes + tensor.num_bytes > max_shard_bytes:
            yield shard
            shard, num_bytes = [], 0
        shard.append(tensor)
        num_bytes += tensor.num_bytes
    yield shard


_FLOAT_FORMATS = ("F32", "BF16", "F16")
# Prefixes of the text model: on its own, or inside a multimodal Gemma 3.
_TEXT_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
_HEAD_NAMES = ("lm_head.weight", "language_model.lm_head.weight")
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
# Old files keep the table of rotary frequencies, which follows from the config.
_DERIVED = "rotary_emb.inv_freq"
_ROWS_PER_COMPARISON = 256


def text_tensors(stored: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """The tensors of the text model under the names that it has by itself."""
    prefix = next((prefix for prefix in _TEXT_PREFIXES if f"{prefix}embed_tokens.weight" in stored), "model.")
    heads = [stored[name] for name in _HEAD_NAMES if name in stored]
    text = {
        f"model.{name.removeprefix(prefix)}": tensor
        for name, tensor in stored.items()
        if name.startswith(prefix) and name not in _HEAD_NAMES and not name.endswith(_DERIVED)
    }
    return text | {_HEAD: heads[0]} if heads else text


def check_tensors(tensors: Mapping[str, StoredTensor], architecture: Architecture, directory: Path) -> None:
    """Require exactly the tensors of the architecture, before any of them is read."""
    expected = dict(expected_shapes(architecture))
    for name, shape in expected.items():
        if name not in tensors:
            raise DataError(
                f"The weights in {directory} do not have the tensor {name}.",
                next_step="Download the model again: its files and its config.json do not match.",
            )
        tensor = tensors[name]
        if tensor.shape != shape:
            reason = f"has shape {list(tensor.shape)}, but config.json asks for {list(shape)}"
            raise _unusable(tensor, reason)
        if tensor.format not in _FLOAT_FORMATS:
            raise _unusable(tensor, f"is stored as {tensor.format}, not as a float of 16 or 32 bits")
    for name in sorted(tensors.keys() - expected.keys() - {_HEAD}):
        raise _unusable(tensors[name], "does not belong to the model of config.json")
    if architecture.is_embedding_tied and _HEAD in tensors:
        _check_tied(tensors[_HEAD], tensors[_EMBEDDING])


def expected_shapes(architecture: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor of a model directory, matrices [out, in], tied ones once."""
    shapes = param_shapes(architecture)
    for weight in weight_mappings(architecture):
        shape = weight.leaf_of(shapes)[1 if weight.is_stacked else 0 :]
        for name in weight.hf_names:
            yield name, shape[::-1] if weight.is_transposed else shape


def _check_tied(head: StoredTensor, embedding: StoredTensor) -> None:
    """A stored head must equal the embedding that it is tied to."""
    if head.shape != embedding.shape:
        raise _unusable(head, f"has shape {list(head.shape)}, but it is tied to {list(embedding.shape)}")
    num_rows = head.shape[0]
    for start in range(0, num_rows, _ROWS_PER_COMPARISON):
        rows = slice(start, min(start + _ROWS_PER_COMPARISON, num_rows))
        if not bool((head.read(rows) == embedding.read(rows)).all()):
            raise _unusable(head, "differs from the embedding, although config.json ties them")


def _unusable(tensor: StoredTensor, reason: str) -> DataError:
    return DataError(
        f"The tensor {tensor.name} in {tensor.path.name} {reason}.",
        next_step="Use the config.json that belongs to these weights (tie_word_embeddings, sizes, layers), "
        "or download the model again.",
    )
