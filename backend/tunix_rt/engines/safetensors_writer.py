"""Safetensors files written tensor by tensor, so that the whole model is never in memory at once.

    8 bytes        length of the header
    header         JSON: name -> format, shape, place of the bytes
    tensors        one after the other, in the order of the header

The library writes a file from a dictionary of all its tensors; this fetches each one when its turn comes.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tunix_rt.base.files.atomic import storage_errors, write_json_atomically
from tunix_rt.engines.tensor_names import INDEX_FILE, SINGLE_FILE

MAX_SHARD_BYTES = 4 * 1024**3
FORMATS = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "int64": "I64", "int32": "I32"}
"""What the file calls the formats that we write."""
_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4}
_HEADER_ALIGNMENT = 8


@dataclass(frozen=True, eq=False)
class LazyTensor:
    """A tensor whose size is known and whose values are fetched when they are written."""

    name: str
    shape: tuple[int, ...]
    format: str
    """`F32`, `BF16`, … as the file calls it."""
    fetch: Callable[[], NDArray[Any]]
    """Gives an array of these bytes; numpy need not know the format of its numbers."""

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
    """Write one safetensors file; each tensor is fetched when its turn comes."""
    with storage_errors(f"writing {path.name}"), path.open("wb") as file:
        _write_header(file, tensors)
        for tensor in tensors:
            file.write(_bytes_of(tensor).data)
        file.flush()
        os.fsync(file.fileno())


def _shards(tensors: Sequence[LazyTensor], max_shard_bytes: int) -> Iterator[list[LazyTensor]]:
    """Consecutive tensors, as many as fit; a tensor larger than a shard has one to itself."""
    shard: list[LazyTensor] = []
    num_bytes = 0
    for tensor in tensors:
        if shard and num_bytes + tensor.num_bytes > max_shard_bytes:
            yield shard
            shard, num_bytes = [], 0
        shard.append(tensor)
        num_bytes += tensor.num_bytes
    yield shard


def _write_header(file: IO[bytes], tensors: Sequence[LazyTensor]) -> None:
    # Libraries refuse a file that does not say which framework's layout it has; "pt" is the one they expect.
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    start = 0
    for tensor in tensors:
        end = start + tensor.num_bytes
        header[tensor.name] = {
            "dtype": tensor.format,
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _HEADER_ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)


def _bytes_of(tensor: LazyTensor) -> NDArray[np.uint8]:
    # bfloat16 has no buffer of its own that Python knows.
    content = np.ascontiguousarray(tensor.fetch()).reshape(-1).view(np.uint8)
    assert content.nbytes == tensor.num_bytes, tensor.name
    return content
