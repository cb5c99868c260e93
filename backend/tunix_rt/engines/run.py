"""The shell around every engine: the run directory, what is written before and after, and how it ends."""

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from tunix_rt import __version__
from tunix_rt.base.errors import ConflictError, TunixRTError
from tunix_rt.base.files.atomic import write_json_atomically
from tunix_rt.base.logs import redacted
from tunix_rt.base.signals import Interrupted
from tunix_rt.core.run_record import OUT_OF_TIME, RunFailure, RunFigures, RunManifest, RunStatus
from tunix_rt.engines.base import Engine, TrainingJob
from tunix_rt.engines.checkpoint_record import begun_by_another_engine, require_checkpoints_of
from tunix_rt.engines.records import RunRecords, View

# What a shell reports of a process that a signal ended.
_SIGNAL_EXIT_BASE = 128


@dataclass(frozen=True)
class _Outcome:
    status: RunStatus
    exit_code: int
    figures: RunFigures | None = None
    failure: RunFailure | None = None


def run(engine: Engine, job: TrainingJob, view: View) -> RunManifest:
    """Train, and leave a run directory that says how it went.

    Raises:
        ConflictError: The directory holds a run already and the job does not resume it.
        TunixRTError: The run failed. If it had begun, the manifest says so.
    """
    with job.run_dir.held():
        _refuse_used_directory(job)
        _refuse_run_of_another_engine(engine, job)
        records = RunRecords(job.run_dir, view)
        if job.engine_choice is not None:
            records.say(job.engine_choice)
        started_at = datetime.now(UTC)
        try:
            with _recording_failures(engine, job, records, started_at):
                outcome = _trained(engine, job, records)
            return _finish(engine, job, records, started_at, outcome)
        finally:
            records.close()
            job.run_dir.remove_if_empty()


def _refuse_used_directory(job: TrainingJob) -> None:
    if job.resume_from is None and not job.run_dir.is_empty():
        raise ConflictError(
            f"{job.run_dir.path} is not empty.",
            next_step="Add --resume to go on with the run that is there, or choose another --output.",
        )


def _refuse_run_of_another_engine(engine: Engine, job: TrainingJob) -> None:
    require_checkpoints_of(engine.name, job.checkpoints)
    environment = job.run_dir.environment
    begun_by = json.loads(environment.read_bytes())["engine"] if environment.is_file() else engine.name
    if begun_by != engine.name:
        raise begun_by_another_engine(job.run_dir.path, begun_by, engine.name)


def _trained(engine: Engine, job: TrainingJob, records: RunRecords) -> _Outcome:
    try:
        result = engine.train(job, records)
    except Interrupted as interrupt:
        # Nothing was under way that could be finished first.
        return _Outcome("cancelled", _SIGNAL_EXIT_BASE + interrupt.signal_number)
    if result.stop_signal is not None:
        return _Outcome("cancelled", _SIGNAL_EXIT_BASE + result.stop_signal, result.figures)
    if result.is_out_of_time:
        return _Outcome("cancelled", OUT_OF_TIME, result.figures)
    return _Outcome("succeeded", 0, result.figures)


@contextmanager
def _recording_failures(
    engine: Engine, job: TrainingJob, records: RunRecords, started_at: datetime
) -> Iterator[None]:
    try:
        yield
    except TunixRTError as error:
        failure = RunFailure(code=error.code, detail=redacted(error.detail), next_step=error.next_step)
        _finish(engine, job, records, started_at, _Outcome("failed", error.exit_code, failure=failure))
        raise
    except Exception as error:
        records.say(traceback.format_exc())
        failure = RunFailure(
            code="bug",
            detail=redacted(f"{type(error).__name__}: {error}"),
            next_step="Report it with log.txt: the run did nothing that should end like this.",
        )
        _finish(engine, job, records, started_at, _Outcome("failed", 1, failure=failure))
        raise


def _finish(
    engine: Engine, job: TrainingJob, records: RunRecords, started_at: datetime, outcome: _Outcome
) -> RunManifest:
    if records.has_begun:
        _record_end(records, outcome)
    records.close()
    recipe = job.resolved.recipe
    manifest = RunManifest(
        run_id=job.run_dir.run_id,
        status=outcome.status,
        exit_code=outcome.exit_code,
        engine=engine.name,
        tunix_rt_version=__version__,
        recipe=job.recipe_name,
        model=recipe.model.name,
        dataset=job.data.name,
        dataset_hash=job.data.content_hash,
        mode=recipe.training.mode,
        is_forced=records.is_forced,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        durations_s={what: round(seconds, 3) for what, seconds in records.durations_s.items()},
        figures=outcome.figures,
        failure=outcome.failure,
        files=job.run_dir.file_hashes() if records.has_begun else {},
    )
    if records.has_begun:
        # Written last: a directory with a manifest is complete, whatever the outcome.
        write_json_atomically(job.run_dir.manifest, manifest.to_json(), what="writing the manifest")
    return manifest


def _record_end(records: RunRecords, outcome: _Outcome) -> None:
    if outcome.failure is not None:
        records.note("failed", f"failed: {outcome.failure.detail}", exit_code=outcome.exit_code)
    else:
        records.note("finished", outcome.status, exit_code=outcome.exit_code)
