"""What a run directory has that the worker does not know yet."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.files.job_dirs import JobDir
from tunix_rt.worker.executors.base import ChildExit
from tunix_rt.worker.executors.ray_messages import (
    CHUNK_BYTES,
    LINES,
    OUTPUT,
    Growth,
    Known,
    Place,
    Report,
    Stamp,
)


def make_report(job_dir: JobDir, run_dir: RunDir, known: Known, exit_: ChildExit | None) -> Report:
    """Everything new, as far as it goes into one answer.

    Args:
        job_dir: Of the attempt.
        run_dir: Of the run; it may not be there yet.
        known: What the worker has.
        exit_: How the child ended; asked before, since what has ended writes no more.
    """
    stamps = _stamps(run_dir.path)
    return Report(
        growths=_growths(job_dir, run_dir, known, is_over=exit_ is not None),
        files={
            name: (stamp, data)
            for name, stamp in stamps.items()
            if stamp != known.stamps.get(name) and (data := _small(run_dir.path / name)) is not None
        },
        names=frozenset(stamps),
        exit=exit_,
    )


def growth_of(path: Path, place: Place | None, *, is_cut_at_lines: bool) -> Growth | None:
    """What a growing file has after `place`; from its beginning when it is another file by now.

    Args:
        path: The file; it may not be there.
        place: How far it is known.
        is_cut_at_lines: Whether a last line without its end is left for the next time.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        inode = os.fstat(file.fileno()).st_ino
        is_new = place is None or place.inode != inode
        offset = 0 if place is None or is_new else place.offset
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
    if is_cut_at_lines and len(data) < CHUNK_BYTES:
        data = data[: data.rfind(b"\n") + 1]
    return Growth(Place(inode, offset + len(data)), is_new, data) if data or is_new else None


def _growths(job_dir: JobDir, run_dir: RunDir, known: Known, *, is_over: bool) -> dict[str, Growth]:
    paths = {OUTPUT: job_dir.output, **{name: run_dir.path / name for name in LINES}}
    found = {
        name: growth_of(path, known.places.get(name), is_cut_at_lines=name != OUTPUT and not is_over)
        for name, path in paths.items()
    }
    return {name: growth for name, growth in found.items() if growth is not None}


def _stamps(directory: Path) -> dict[str, Stamp]:
    """Of the files at the top that do not grow."""
    stamps = {}
    for name in os.listdir(directory) if directory.is_dir() else []:
        path = directory / name
        # Names with a dot are on their way to another name, or locks.
        if name.startswith(".") or name in LINES:
            continue
        with suppress(FileNotFoundError):  # removed since the listing
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                stamps[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return stamps


def _small(path: Path) -> bytes | None:
    """What is in the file; None when it is too large to be sent along, or gone."""
    try:
        with path.open("rb") as file:
            data = file.read(CHUNK_BYTES + 1)
    except FileNotFoundError:
        return None
    return data if len(data) <= CHUNK_BYTES else None
