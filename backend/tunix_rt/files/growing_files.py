"""Files that a process appends to while others read them, each reader at a place of its own."""

import os
from pathlib import Path

from tunix_rt.base.files.atomic import storage_errors

_BLOCK_BYTES = 1 << 16


class GrowingFile:
    """A file that grows, that may not be there yet, and that may be replaced by a copy that is cut back.

    Between two calls of `look` it does not change for its readers. A file that was replaced stays open until
    the new one was compared with it: so it is known what both begin with, and whoever has read further than
    that knows that it must go back. One thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._cuts: list[int] = []
        self.num_bytes = 0
        """As of the last look."""

    @property
    def version(self) -> int:
        """Counts how often the file was cut back or replaced."""
        return len(self._cuts)

    def look(self) -> bool:
        """See how long the file is and whether it is another one; whether anything changed.

        Raises:
            StorageError: It is there and cannot be read.
        """
        with storage_errors(f"reading {self._path.name}"):
            before = (self.num_bytes, self.version)
            self._open_what_is_there()
            if self._descriptor is not None:
                self._measure(os.fstat(self._descriptor).st_size)
            return before != (self.num_bytes, self.version)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """The bytes from `offset` on, as far as the last look saw them."""
        num_wanted = min(max_bytes, self.num_bytes - offset)
        if self._descriptor is None or num_wanted <= 0:
            return b""
        return os.pread(self._descriptor, num_wanted, offset)

    def kept_of(self, offset: int, version: int) -> int:
        """How much of what was read up to `offset`, when the file had this version, it still begins with."""
        return min([offset, *self._cuts[version:]])

    def line_before(self, offset: int) -> bytes:
        """The line that ends at `offset`, with its end; empty at the beginning."""
        if not 0 < offset <= self.num_bytes:
            return b""
        start = self._line_start(offset - 1)
        return self.read(start, offset - start)

    def place_of_last_lines(self, num_lines: int) -> int:
        """Where the last `num_lines` lines begin; one without an end counts."""
        place = self.num_bytes
        for _ in range(num_lines):
            if place == 0:
                break
            place = self._line_start(place - 1)
        return place

    def close(self) -> None:
        """Nothing more can be read."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _line_start(self, offset: int) -> int:
        """Where the line begins that the byte at `offset` belongs to."""
        end = offset
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            newline = self.read(start, end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0

    def _open_what_is_there(self) -> None:
        try:
            found = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # not yet; or removed, and who reads it may finish
        if self._descriptor is None:
            self._descriptor = found
        elif os.path.sameopenfile(self._descriptor, found):
            os.close(found)
        else:
            self._cuts.append(_common_lines(self._descriptor, found, self.num_bytes))
            os.close(self._descriptor)
            self._descriptor, self.num_bytes = found, os.fstat(found).st_size

    def _measure(self, num_bytes: int) -> None:
        if num_bytes < self.num_bytes:
            self._cuts.append(0)  # emptied in place: what is in it now was written anew
        self.num_bytes = num_bytes


def _common_lines(old: int, new: int, num_bytes: int) -> int:
    """How many bytes of whole lines both files begin with, in the first `num_bytes` of the old one."""
    common = 0
    for start in range(0, num_bytes, _BLOCK_BYTES):
        size = min(_BLOCK_BYTES, num_bytes - start)
        left, right = os.pread(old, size, start), os.pread(new, size, start)
        same = left == right
        shared = left if same else left[: _num_equal(left, right)]
        newline = shared.rfind(b"\n")
        common = start + newline + 1 if newline >= 0 else common
        if not same:
            break
    return common


def _num_equal(left: bytes, right: bytes) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )
