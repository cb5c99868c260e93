"""The metrics of a run as one JSON array, as its file has them."""

from collections.abc import Iterator
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.services.runs.following import find_standing

_BLOCK_BYTES = 1 << 18


def metrics_array(home: Home, run_id: str) -> Iterator[bytes]:
    """The lines of `metrics.jsonl` as the text of a JSON array, in pieces; empty before the first line.

    The lines are passed on as they are, and a last one without its end is left out.

    Raises:
        NotFoundError: There is no such run.
    """
    find_standing(home, run_id)
    return _array(RunDir(home.settings.runs_dir / run_id).metrics)


def _array(path: Path) -> Iterator[bytes]:
    piece, torn, has_lines = b"[", b"", False
    for block in _blocks(path):
        whole, newline, torn = (torn + block).rpartition(b"\n")
        if newline and has_lines:
            yield piece
            piece = b",\n"
        if newline:
            piece += whole.replace(b"\n", b",\n")
            has_lines = True
    yield piece + b"]"


def _blocks(path: Path) -> Iterator[bytes]:
    with storage_errors("reading the metrics"):
        try:
            with path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    yield block
        except FileNotFoundError:
            return  # the run has not begun
