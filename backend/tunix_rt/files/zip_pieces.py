"""A zip file made while it is sent: memory does not grow with what is in it."""

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

# Every archive of the same content is the same, whenever it is made.
_TIME = (1980, 1, 1, 0, 0, 0)
PIECE_BYTES = 1 << 20

Entry = tuple[str, Iterable[bytes]]
"""Path in the archive, and the pieces of the file."""


def zip_pieces(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The pieces of the archive, stored without packing: weights hardly become smaller."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for path, pieces in entries:
            # Sizes beyond 4 GiB must be announced before the first byte.
            with archive.open(_info(path), "w", force_zip64=True) as entry:
                for piece in pieces:
                    entry.write(piece)
                    yield sink.take()
    yield sink.take()


def _info(path: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(path, _TIME)
    info.external_attr = 0o644 << 16
    return info


class _Sink(io.RawIOBase):
    """A file that cannot be rewound: what is written is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
