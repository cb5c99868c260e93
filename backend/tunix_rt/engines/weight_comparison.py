"""How far the exported weights of two runs are from each other."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tunix_rt.base.errors import DataError

_PATTERN = "*.safetensors"


@dataclass(frozen=True)
class WeightDifference:
    """The largest one over all numbers of all tensors."""

    largest: float
    tensor: str
    """The tensor that has it."""
    num_weights: int
    """Numbers that were compared."""


def compare_weights(first: Path, second: Path) -> WeightDifference:
    """Compare two directories of tensors, one tensor at a time.

    Raises:
        DataError: They do not hold the same tensors.
    """
    files, other_files = _files_by_tensor(first), _files_by_tensor(second)
    if files.keys() != other_files.keys():
        differing = ", ".join(sorted(files.keys() ^ other_files.keys())[:3])
        raise DataError(
            f"The two runs exported different tensors: {differing}.",
            next_step="Report this with the recipe: both should write the same layout.",
        )
    largest, tensor, num_weights = 0.0, min(files), 0
    for name in sorted(files):
        values, other_values = _values(files[name], name), _values(other_files[name], name)
        difference = float(np.abs(values - other_values).max())
        num_weights += values.size
        if difference > largest:
            largest, tensor = difference, name
    return WeightDifference(largest, tensor, num_weights)


def _values(path: Path, tensor: str) -> NDArray[np.float32]:
    # Both engines bring it; the package itself does not need it.
    from safetensors import safe_open

    with safe_open(path, "numpy") as opened:
        if opened.get_slice(tensor).get_dtype() != "BF16":
            values: NDArray[np.float32] = opened.get_tensor(tensor).astype(np.float32)
            return values
    return _bfloat16_values(path, tensor)


def _bfloat16_values(path: Path, tensor: str) -> NDArray[np.float32]:
    """The numbers of a tensor that numpy has no type for: their bits are the upper half of a float32."""
    with path.open("rb") as file:
        num_header_bytes = int.from_bytes(file.read(8), "little")
        start, end = json.loads(file.read(num_header_bytes))[tensor]["data_offsets"]
        file.seek(8 + num_header_bytes + start)
        upper_halves = np.frombuffer(file.read(end - start), "<u2")
    return (upper_halves.astype(np.uint32) << 16).view(np.float32)


def _files_by_tensor(directory: Path) -> dict[str, Path]:
    from safetensors import safe_open

    files: dict[str, Path] = {}
    for path in sorted(directory.glob(_PATTERN)):
        with safe_open(path, "numpy") as opened:
            files |= dict.fromkeys(opened.keys(), path)
    return files
