"""The course of many runs' losses at a glance: a few points of each, however long they are."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.home import Home
from tunix_rt.base.records import Record
from tunix_rt.engines.training.run_dir import RunDir

NUM_POINTS = 48
_TAIL_BYTES = 1 << 14
"""Where the newest step stands, behind which validations may follow."""


class Sparkline(Record):
    """A few points of a run's loss, in order; the last one is the newest."""

    run_id: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]


class SparklineList(Record):
    """Those of the runs that have logged something."""

    data: tuple[Sparkline, ...]


def sparklines(home: Home, run_ids: Sequence[str]) -> SparklineList:
    """The sparklines of these runs; a run that is unknown or has logged nothing has none."""
    drawn = (_sparkline(home, run_id) for run_id in dict.fromkeys(run_ids))
    return SparklineList(data=tuple(line for line in drawn if line.steps))


def _sparkline(home: Home, run_id: str) -> Sparkline:
    points = dict(_sampled(RunDir(home.settings.runs_dir / run_id).metrics))
    return Sparkline(run_id=run_id, steps=tuple(points), losses=tuple(points.values()))


def _sampled(path: Path) -> Iterator[tuple[int, float]]:
    """Steps and losses of lines that lie evenly in the file, which is never read as a whole."""
    with storage_errors("reading the metrics"):
        try:
            with path.open("rb") as file:
                yield from _points(file)
        except FileNotFoundError:
            return  # the run has not begun


def _points(file: BinaryIO) -> Iterator[tuple[int, float]]:
    size = file.seek(0, os.SEEK_END)
    for index in range(NUM_POINTS):
        place = size * index // NUM_POINTS
        file.seek(place)
        if place:
            file.readline()  # the place is somewhere inside of it
        yield from _point(file.readline())
    yield from _last_point(file, size)


def _last_point(file: BinaryIO, size: int) -> Iterator[tuple[int, float]]:
    place = max(size - _TAIL_BYTES, 0)
    file.seek(place)
    whole = file.read().splitlines(keepends=True)[1 if place else 0 :]
    for line in reversed(whole):
        if point := next(_point(line), None):
            yield point
            return


def _point(line: bytes) -> Iterator[tuple[int, float]]:
    """The step and the loss of a line; none of a torn one, or of one of a validation."""
    values = json.loads(line) if line.endswith(b"\n") else {}
    if math.isfinite(values.get("loss", math.nan)):
        yield values["step"], values["loss"]
