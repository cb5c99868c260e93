"""List, get, cancel, pause, resume, prioritise, remove; queue state."""

import json
import math
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

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
    return RunTimes.model_validate(run, from_attributes=True)


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


def queue_state(home: Home) -> QueueState:
    """The state of the queue."""
    return QueueState(
        is_paused=FlagRepository(home.database).is_queue_paused(),
        num_runs=refreshed_runs(home).counts(),
        num_held=RunRepository(home.database).num_held(),
        workers=WorkerRepository(home.database).list(),
    )


def resume(home: Home, run_id: str) -> RunDetail:
    """Resume a paused, cancelled or failed run from its last checkpoint.

    Raises:
        NotFoundError: There is no such run.
        ConflictError: It has succeeded, or cannot be resumed in the queue.
    """
    run = get_run(home, run_id)
    job_dir = JobDir(home.settings.jobs_dir / run_id)
    if not job_dir.recipe.is_file():
        data = run.recipe.get("data")
        if not isinstance(data, dict) or data.get("dataset") is None:
            raise ConflictError(
                f"The run {run.run_id} was trained on the file {run.dataset}, which the queue cannot read.",
                next_step="Run the command that started it again, with --resume and the same --output.",
            )
        write_recipe(job_dir, run.recipe)
    return RunRepository(home.database).resume(run_id)


def set_queue_paused(home: Home, is_paused: bool) -> QueueState:
    """Stop workers from taking runs, or let them continue. Running runs are not affected."""
    FlagRepository(home.database).set_queue_paused(is_paused)
    return queue_state(home)


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
        # Imported here: it needs an optional extra.
        from tunix_rt.runs.executors.ray.mirror import CheckpointMirror

        CheckpointMirror(settings.checkpoint_url, run_id).remove()
    for directory in (settings.runs_dir, settings.jobs_dir):
        for removed in directory.glob(f"{_REMOVING_PREFIX}*"):
            shutil.rmtree(removed, ignore_errors=True)


def _move_aside(path: Path) -> None:
    """Rename it out of the list: one step, however much there is to delete."""
    if path.is_dir():
        with storage_errors(f"removing {path.name}"):
            path.rename(path.with_name(f"{_REMOVING_PREFIX}{secrets.token_hex(4)}"))
            sync_directory(path.parent)


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
    """Steps and losses at evenly spaced offsets; the file is never read as a whole."""
    points: dict[int, float] = {}
    # A run that has not started has no metrics.
    path = RunDir(home.settings.runs_dir / run_id).metrics
    with storage_errors("reading the metrics"), suppress(FileNotFoundError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        for index in range(NUM_POINTS):
            offset = size * index // NUM_POINTS
            file.seek(offset)
            if offset:
                file.readline()  # the rest of a line
            points |= _point(file.readline())
        tail = max(size - _TAIL_BYTES, 0)
        file.seek(tail)
        whole = file.read().splitlines(keepends=True)[1 if tail else 0 :]
        points |= next(filter(None, map(_point, reversed(whole))), {})
    return Sparkline(run_id=run_id, steps=tuple(points), losses=tuple(points.values()))


def _point(line: bytes) -> dict[int, float]:
    """The loss of a line, by its step; empty for a torn line or a validation."""
    values = json.loads(line) if line.endswith(b"\n") else {}
    return {values["step"]: values["loss"]} if math.isfinite(values.get("loss", math.nan)) else {}
