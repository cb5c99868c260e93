"""What travels to a node before a run starts there: the package, the dataset, what is here of the run."""

import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

import tunix_rt
from tunix_rt.datasets.files import dataset_dir, read_manifest
from tunix_rt.worker.executors.base import Job

_PIECE_BYTES = 32 << 20
_NUM_KEPT_DATASETS = 4


@dataclass(frozen=True)
class Piece:
    """A part of a file of the node's home."""

    path: str
    offset: int
    data: Any
    """Bytes, or a reference to them in Ray's object store, which many nodes can read."""


class Shipments:
    """The package and the datasets in Ray's object store, put there once for all runs that need them."""

    def __init__(self, datasets_dir: Path) -> None:
        self._datasets_dir = datasets_dir
        self._datasets: dict[tuple[str, str], list[Piece]] = {}
        self._lock = threading.Lock()
        self.package = ray.put(zipped_package())

    def dataset(self, key: str) -> list[Piece]:
        """The files of a dataset.

        Raises:
            NotFoundError: There is none of that key.
        """
        name = (key, read_manifest(self._datasets_dir, key).content_hash)
        with self._lock:
            pieces = self._datasets.pop(name, None) or self._put(key)
            self._datasets[name] = pieces  # the one that was used last is the last
            for oldest in list(self._datasets)[:-_NUM_KEPT_DATASETS]:
                del self._datasets[oldest]
        return pieces

    def _put(self, key: str) -> list[Piece]:
        directory = dataset_dir(self._datasets_dir, key)
        local = _pieces(directory, f"datasets/{key}", sorted(directory.iterdir()))
        return [Piece(piece.path, piece.offset, ray.put(piece.data)) for piece in local]


def run_so_far(job: Job, *, with_checkpoints: bool) -> Iterator[Piece]:
    """The recipe, and what earlier attempts have left here of the run."""
    run_id, run_dir = job.run_id, job.run_dir.path
    yield from _pieces(job.job_dir.path, f"jobs/{run_id}", [job.job_dir.recipe])
    # Names with a dot are locks, or what a killed process was writing. The model is written anew.
    files = [path for path in run_dir.glob("[!.]*") if path.is_file()]
    if with_checkpoints:
        files += [path for path in job.run_dir.checkpoints.glob("[0-9]*/**/*") if path.is_file()]
    yield from _pieces(run_dir, f"runs/{run_id}", files)


def zipped_package() -> bytes:
    """The package that runs here, as a zip: both ends are of one version."""
    root = Path(tunix_rt.__file__).parent
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                archive.write(path, f"{root.name}/{path.relative_to(root).as_posix()}")
    return packed.getvalue()


def _pieces(root: Path, target: str, files: list[Path]) -> Iterator[Piece]:
    for path in files:
        name, offset = f"{target}/{path.relative_to(root).as_posix()}", 0
        with path.open("rb") as file:
            while data := file.read(_PIECE_BYTES):
                yield Piece(name, offset, data)
                offset += len(data)
        if offset == 0:
            yield Piece(name, 0, b"")
