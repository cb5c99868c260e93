"""List, get, cancel, pause, resume, prioritise, remove; queue state."""

import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError, InvalidInputError, NotFoundError
from tunix_rt.base.files.atomic import storage_errors, sync_directory
from tunix_rt.base.files.locks import held_directory
from tunix_rt.base.home import Home
from tunix_rt.base.records import Pagination, Record, pagination
from tunix_rt.engines.training.run_dir import RunDir
from tunix_rt.engines.training.types import RunStatus
from tunix_rt.runs.files import JobDir
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository
from tunix_rt.runs.submit import write_recipe
from tunix_rt.runs.types import Run, RunDetail, RunFilter, ServiceEvent, Worker
from tunix_rt.runs.unmanaged import refreshed_runs, unmanaged_runs

_MAX_SHOWN = 5


class RunList(BaseModel):
    """A page of runs."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Run, ...]
    pagination: Pagination


class RunTimes(Record):
    """The status of a run, with its times."""

    run_id: str
    status: RunStatus
    is_held: bool
    num_attempts: int
    queued_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None


class RunEventList(BaseModel):
    """The queue and worker events of a run, in order."""

    model_config = ConfigDict(frozen=True)
    data: tuple[ServiceEvent, ...]


class WorkerList(BaseModel):
    """Every known worker, newest first."""

    model_config = ConfigDict(frozen=True)
    data: tuple[Worker, ...]


class QueueState(BaseModel):
    """The state of the queue."""

    model_config = ConfigDict(frozen=True)
    is_paused: bool
    num_runs: dict[RunStatus, int]
    """By status; statuses without runs are left out."""
    num_held: int
    """Queued runs on hold until they are resumed."""
    workers: tuple[Worker, ...]


def list_runs(home: Home, criteria: RunFilter, *, limit: int, offset: int) -> RunList:
    """A page of runs, newest first, with the total."""
    page = refreshed_runs(home).list(criteria, limit=limit, offset=offset)
    return RunList(data=page.data, pagination=pagination(limit, offset, len(page.data), page.total))


def get_run(home: Home, run_id: str) -> RunDetail:
    """The run with this id, or NotFoundError."""
    run = refreshed_runs(home).get(run_id)
    if run.executor != "direct" or run.status == "succeeded":
        return run
    unmanaged_runs(home).update(run_id)  # somebody may have resumed it
    return RunRepository(home.database).get(run_id)


def get_times(home: Home, run_id: str) -> RunTimes:
    """The status and times of a run, or NotFoundError."""
    run = refreshed_runs(home).summary(run_id)
    return RunTimes.model_validate({name: getattr(run, name) for name in RunTimes.model_fields})


def find_run_id(home: Home, part: str) -> str:
    """The id of the run with this start or last word of its id.

    Raises:
        NotFoundError: No run's id begins or ends so.
        InvalidInputError: Several do.

    Example:
        "3f2a" -> "20250131-142907-demo-3f2a"
    """
    found = refreshed_runs(home).find_ids(part, limit=_MAX_SHOWN + 1) if part else ()
    if part in found or len(found) == 1:
        return part if part in found else found[0]
    if not found:
        raise NotFoundError(f"There is no run {part!r}.", next_step="List the runs: tunix-rt runs list")
    shown = ", ".join(found[:_MAX_SHOWN]) + (", …" if len(found) > _MAX_SHOWN else "")
    raise InvalidInputError(f"{part!r} matches several runs: {shown}.", next_step="Type more of the id.")


def list_events(home: Home, run_id: str, *, after: int = -1) -> RunEventList:
    """The events of a run with a higher sequence than `after`, or NotFoundError."""
    return RunEventList(data=refreshed_runs(home).events(run_id, after=after))


def list_workers(home: Home) -> WorkerList:
    """Every known worker, newest first."""
    return WorkerList(data=WorkerRepository(home.database).list())


def queue_state(home: Home) -> QueueState:
    """The state of the queue."""
    return QueueState(
        is_paused=FlagRepository(home.database).is_queue_paused(),
        num_runs=refreshed_runs(home).counts(),
        num_held=RunRepository(home.database).num_held(),
        workers=WorkerRepository(home.database).list(),
    )


def cancel(home: Home, run_id: str) -> RunDetail:
    """Cancel a queued run at once, or ask a running one to stop.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has ended, or is unmanaged.
    """
    return refreshed_runs(home).cancel(run_id)


def pause(home: Home, run_id: str) -> RunDetail:
    """Hold a run until it is resumed; a running one stops with a checkpoint.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has ended, or is unmanaged.
    """
    return refreshed_runs(home).pause(run_id)


def resume(home: Home, run_id: str) -> RunDetail:
    """Resume a paused, cancelled or failed run from its last checkpoint.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has succeeded, or cannot be resumed in the queue.
    """
    run = get_run(home, run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    if not job_dir.recipe.is_file():
        _require_dataset(run)
        write_recipe(job_dir, run.recipe)
    return RunRepository(home.database).resume(run_id)


def set_priority(home: Home, run_id: str, priority: int) -> RunDetail:
    """Set the priority for the next claim; higher first."""
    return refreshed_runs(home).set_priority(run_id, priority)


def pause_queue(home: Home) -> QueueState:
    """Stop workers from taking runs; running ones continue."""
    FlagRepository(home.database).set_queue_paused(True)
    return queue_state(home)


def resume_queue(home: Home) -> QueueState:
    """Let workers take runs again."""
    FlagRepository(home.database).set_queue_paused(False)
    return queue_state(home)


def _require_dataset(run: RunDetail) -> None:
    data = run.recipe.get("data")
    if not isinstance(data, dict) or data.get("dataset") is None:
        raise ConflictError(
            f"The run {run.run_id} was trained on the file {run.dataset}, which the queue cannot read.",
            next_step="Run the command that started it again, with --resume and the same --output.",
        )


_REMOVING_PREFIX = ".removing-"


def remove(home: Home, run_id: str) -> None:
    """Remove a run and its files; its evaluations stay.

    If this process is killed, the run is either still listed and can be removed again, or its directories are
    renamed and the next removal deletes them.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It is running, or something needs it.
    """
    settings = home.settings
    run_path, job_path = settings.runs_dir / run_id, settings.jobs_dir / run_id
    refreshed_runs(home).require_removable(run_id)  # so that only the id of a run becomes a path
    if run_path.is_dir():
        with held_directory(run_path, "run"):  # an evaluation or another process may be writing it
            RunRepository(home.database).remove(run_id)
            _move_aside(run_path)
    else:
        RunRepository(home.database).remove(run_id)
    _move_aside(job_path)
    if settings.checkpoint_url is not None:
        _remove_mirror(settings.checkpoint_url, run_id)
    for directory in (settings.runs_dir, settings.jobs_dir):
        _delete_removed(directory)


def _move_aside(path: Path) -> None:
    """Rename it out of the list: one step, however much there is to delete."""
    if path.is_dir():
        with storage_errors(f"removing {path.name}"):
            path.rename(path.with_name(f"{_REMOVING_PREFIX}{secrets.token_hex(4)}"))
            sync_directory(path.parent)


def _delete_removed(directory: Path) -> None:
    for path in directory.glob(f"{_REMOVING_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)


def _remove_mirror(url: str, run_id: str) -> None:
    # Imported here: it needs an optional extra.
    from tunix_rt.runs.executors.ray.mirror import CheckpointMirror

    CheckpointMirror(url, run_id).remove()


NUM_POINTS = 48
_TAIL_BYTES = 1 << 14
"""Contains the newest step, which validations may follow."""


class Sparkline(Record):
    """A few points of the loss curve of a run, in order; the last one is the newest."""

    run_id: str
    steps: tuple[int, ...]
    losses: tuple[float, ...]


class SparklineList(Record):
    """The sparklines of the runs that have logged a loss."""

    data: tuple[Sparkline, ...]


def sparklines(home: Home, run_ids: Sequence[str]) -> SparklineList:
    """The sparklines of these runs; runs that are unknown or have logged no loss are left out."""
    lines = (_sparkline(home, run_id) for run_id in dict.fromkeys(run_ids))
    return SparklineList(data=tuple(line for line in lines if line.steps))


def _sparkline(home: Home, run_id: str) -> Sparkline:
    points = dict(_sampled(RunDir(home.settings.runs_dir / run_id).metrics))
    return Sparkline(run_id=run_id, steps=tuple(points), losses=tuple(points.values()))


def _sampled(path: Path) -> Iterator[tuple[int, float]]:
    """Steps and losses at evenly spaced offsets; the file is never read as a whole."""
    with storage_errors("reading the metrics"):
        try:
            with path.open("rb") as file:
                yield from _points(file)
        except FileNotFoundError:
            return  # the run has not started


def _points(file: BinaryIO) -> Iterator[tuple[int, float]]:
    size = file.seek(0, os.SEEK_END)
    for index in range(NUM_POINTS):
        offset = size * index // NUM_POINTS
        file.seek(offset)
        if offset:
            file.readline()  # the rest of a line
        yield from _point(file.readline())
    yield from _last_point(file, size)


def _last_point(file: BinaryIO, size: int) -> Iterator[tuple[int, float]]:
    offset = max(size - _TAIL_BYTES, 0)
    file.seek(offset)
    whole = file.read().splitlines(keepends=True)[1 if offset else 0 :]
    for line in reversed(whole):
        if point := next(_point(line), None):
            yield point
            return


def _point(line: bytes) -> Iterator[tuple[int, float]]:
    """The step and the loss of a line; nothing for a torn line or a validation."""
    values = json.loads(line) if line.endswith(b"\n") else {}
    if math.isfinite(values.get("loss", math.nan)):
        yield values["step"], values["loss"]
