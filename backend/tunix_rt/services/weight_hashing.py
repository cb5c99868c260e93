"""Which weights were evaluated: one hash over the files that hold them."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

_CHUNK_BYTES = 1 << 22

OnFraction = Callable[[float], None]
"""Told the share of the bytes that are read."""


def weights_hash(directories: Mapping[str, Path], on_fraction: OnFraction) -> str | None:
    """SHA-256 over the safetensors files of a model, and of its adapter; None when there are none.

    Args:
        directories: what each directory holds -> the directory, e.g. `{"model": …, "adapter": …}`.
        on_fraction: told after every few megabytes.
    """
    files = {
        f"{part}/{path.name}": path
        for part, directory in sorted(directories.items())
        for path in sorted(directory.glob("*.safetensors"))
    }
    num_bytes = sum(path.stat().st_size for path in files.values())
    digest, num_read = hashlib.sha256(), 0
    for name, path in files.items():
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
                num_read += len(chunk)
                on_fraction(num_read / num_bytes)
    return digest.hexdigest() if files else None
