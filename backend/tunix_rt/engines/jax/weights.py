"""Weights in: safetensors to a tree of arrays, each part straight to the device it belongs to."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import Array
from jax.sharding import Sharding, SingleDeviceSharding
from jax.typing import DTypeLike
from numpy.typing import NDArray

from tunix_rt.engines.architecture import Architecture
from tunix_rt.engines.jax.params import Params
from tunix_rt.engines.param_shapes import param_shapes
from tunix_rt.engines.safetensors_reader import StoredTensor, open_tensors
from tunix_rt.engines.stored_weights import check_tensors, text_tensors
from tunix_rt.engines.tensor_names import TensorPlace, tensor_places

Index: TypeAlias = tuple[slice, ...]

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
        tensors = text_tensors(stored)
        check_tensors(tensors, architecture, directory)
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
