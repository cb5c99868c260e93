"""How far the exported weights of two runs are from each other."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tunix_rt.core.errors import DataError

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
    """Compare two directories of float32 tensors, one tensor at a time.

    Raises:
        DataError: They do not hold the same tensors.
    """
    # Both engines bring it; the package itself does not need it.
    from safetensors import safe_open

    files, other_files = _files_by_tensor(first), _files_by_tensor(second)
    if files.keys() != other_files.keys():
        differing = ", ".join(sorted(files.keys() ^ other_files.keys())[:3])
        raise DataError(
            f"The two engines exported different tensors: {differing}.",
            next_step="Report this with the recipe: both should write the same layout.",
        )
    largest, tensor, num_weights = 0.0, min(files), 0
    for name in sorted(files):
        with safe_open(files[name], "numpy") as one, safe_open(other_files[name], "numpy") as other:
            values, other_values = one.get_tensor(name), other.get_tensor(name)
        difference = float(np.abs(values - other_values).max())
        num_weights += values.size
        if difference > largest:
            largest, tensor = difference, name
    return WeightDifference(largest, tensor, num_weights)


def _files_by_tensor(directory: Path) -> dict[str, Path]:
    from safetensors import safe_open

    files: dict[str, Path] = {}
    for path in sorted(directory.glob(_PATTERN)):
        with safe_open(path, "numpy") as opened:
            files |= dict.fromkeys(opened.keys(), path)
    return files
