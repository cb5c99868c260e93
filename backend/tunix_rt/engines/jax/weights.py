"""Weights in: safetensors to a tree of arrays, each part straight to the device it belongs to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import Array
from jax.sharding import Sharding, SingleDeviceSharding
from jax.typing import DTypeLike
from numpy.typing import NDArray

from tunix_rt.core.errors import DataError
from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.params import Params, param_shapes
from tunix_rt.engines.jax.safetensors_reader import StoredTensor, open_tensors
from tunix_rt.engines.tensor_names import TensorPlace, tensor_places

Index: TypeAlias = tuple[slice, ...]

_FLOAT_FORMATS = ("F32", "BF16", "F16")
# Where the text model lies: by itself, or inside a Gemma 3 that also sees images.
_TEXT_PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
_HEAD_NAMES = ("lm_head.weight", "language_model.lm_head.weight")
_EMBEDDING, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
# Old files keep the table of rotary frequencies, which follows from the config.
_DERIVED = "rotary_emb.inv_freq"
# Rows that are cast and transposed at a time: small enough to stay in the processor's cache.
_ROWS_PER_COPY = 256


def load_params(
    directory: Path,
    architecture: Architecture,
    dtype: DTypeLike,
    shardings: Any = None,
    *,
    convert: Callable[[str, Array], Any] = lambda _, array: array,
) -> Params:
    """Read the weights of a model directory.

    One stacked tensor at a time passes through host memory, and of it only the parts that this process's
    devices hold.

    Args:
        directory: `model.safetensors`, or shards with an index.
        architecture: what its `config.json` says.
        dtype: format of the arrays; stored float32, bfloat16 and float16 are converted.
        shardings: a tree like the result with a sharding at every leaf. None: the first local device.
        convert: what is kept of each weight, given its name (`q`, `embedding`, …); called before the next one
            is read, so that a model which is quantised never lies on the devices whole.

    Raises:
        DataError: A file is damaged, or its tensors are not those of the architecture.
    """
    with open_tensors(directory) as stored:
        tensors = _text_tensors(stored)
        _check_tensors(tensors, architecture, directory)
        params: Params = {"layers": {}}
        for place in tensor_places(architecture):
            shape = place.leaf_of(param_shapes(architecture))
            sharding = place.leaf_of(shardings) if shardings is not None else None
            parts = [tensors[name] for name in place.hf_names]
            array = _load_array(parts, place, shape, dtype, sharding)
            (params["layers"] if place.is_stacked else params)[place.name] = convert(place.name, array)
            del array
    return params


def _load_array(
    parts: Sequence[StoredTensor],
    place: TensorPlace,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    sharding: Sharding | None,
) -> Array:
    blocks: dict[str, NDArray[Any]] = {}

    def read(index: Index | None) -> NDArray[Any]:
        assert index is not None
        # Devices that hold the same block ask for it one after the other.
        if str(index) not in blocks:
            blocks[str(index)] = _read_block(parts, place, _bounded(index, shape), np.dtype(dtype))
        return blocks[str(index)]

    return jax.make_array_from_callback(shape, sharding or SingleDeviceSharding(jax.local_devices()[0]), read)


def _read_block(
    parts: Sequence[StoredTensor], place: TensorPlace, index: Index, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """A block of one weight: layers on the first axis if it is stacked, matrices [in, out]."""
    block = np.empty([part.stop - part.start for part in index], dtype)
    if not place.is_stacked:
        _copy(parts[0], index, block)
        return block
    layers, *inner = index
    for target, part in zip(block, parts[layers], strict=True):
        if place.is_transposed:
            _copy(part, tuple(inner[::-1]), target.T)
        else:
            _copy(part, tuple(inner), target)
    return block


def _copy(tensor: StoredTensor, index: Index, target: NDArray[Any]) -> None:
    """Fill `target` with a part of a tensor, some rows at a time, in the target's format."""
    rows, *columns = index
    for part in _row_chunks(rows):
        values = tensor.read(part, *columns)
        target[part.start - rows.start : part.stop - rows.start] = values.astype(target.dtype)


def _row_chunks(rows: slice) -> Iterator[slice]:
    """0:600 -> 0:256, 256:512, 512:600."""
    for start in range(rows.start, rows.stop, _ROWS_PER_COPY):
        yield slice(start, min(start + _ROWS_PER_COPY, rows.stop))


def _bounded(index: Index, shape: tuple[int, ...]) -> Index:
    """The same block with both ends of every slice written out: `[:]` of 8 rows is `[0:8]`."""
    return tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, shape, strict=True))


def _text_tensors(stored: Mapping[str, StoredTensor]) -> dict[str, StoredTensor]:
    """The tensors of the text model under the names that it has by itself."""
    prefix = next((prefix for prefix in _TEXT_PREFIXES if f"{prefix}embed_tokens.weight" in stored), "model.")
    heads = [stored[name] for name in _HEAD_NAMES if name in stored]
    text = {
        f"model.{name.removeprefix(prefix)}": tensor
        for name, tensor in stored.items()
        if name.startswith(prefix) and name not in _HEAD_NAMES and not name.endswith(_DERIVED)
    }
    return text | {_HEAD: heads[0]} if heads else text


def _check_tensors(tensors: Mapping[str, StoredTensor], architecture: Architecture, directory: Path) -> None:
    """Refuse weights that are not exactly those of the architecture, before the first is read."""
    expected = dict(_expected_shapes(architecture))
    for name, shape in expected.items():
        if name not in tensors:
            raise DataError(
                f"The weights in {directory} lack the tensor {name}.",
                next_step="Download the model again: files or its config.json do not belong together.",
            )
        _check_tensor(tensors[name], shape)
    for name in sorted(tensors.keys() - expected.keys() - {_HEAD}):
        raise _unusable(tensors[name], "is not explained by config.json")
    if architecture.is_embedding_tied and _HEAD in tensors:
        _check_tied(tensors[_HEAD], tensors[_EMBEDDING])


def _expected_shapes(architecture: Architecture) -> Iterator[tuple[str, tuple[int, ...]]]:
    shapes = param_shapes(architecture)
    for place in tensor_places(architecture):
        shape = place.leaf_of(shapes)[1 if place.is_stacked else 0 :]
        for name in place.hf_names:
            yield name, shape[::-1] if place.is_transposed else shape


def _check_tensor(tensor: StoredTensor, shape: tuple[int, ...]) -> None:
    if tensor.shape != shape:
        raise _unusable(tensor, f"has shape {list(tensor.shape)}, but config.json asks for {list(shape)}")
    if tensor.format not in _FLOAT_FORMATS:
        raise _unusable(tensor, f"is stored as {tensor.format}, not as a float of 16 or 32 bits")


def _check_tied(head: StoredTensor, embedding: StoredTensor) -> None:
    """A head that is stored although it is tied must be the embedding."""
    if head.shape != embedding.shape:
        raise _unusable(head, f"has shape {list(head.shape)}, but it is tied to {list(embedding.shape)}")
    for rows in _row_chunks(slice(0, head.shape[0])):
        if not np.array_equal(head.read(rows), embedding.read(rows)):
            raise _unusable(head, "differs from the embedding, although config.json ties them")


def _unusable(tensor: StoredTensor, reason: str) -> DataError:
    return DataError(
        f"The tensor {tensor.name} in {tensor.path.name} {reason}.",
        next_step="Use the config.json that belongs to these weights (tie_word_embeddings, sizes, layers), "
        "or download the model again.",
    )
