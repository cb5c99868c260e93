"""Checkpoint records; the step at which a run starts or resumes.

checkpoints/<step>/record/        the JAX engine's, written by Orbax
checkpoints/<step>/record.json    the torch engine's
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError, StorageError
from tunix_rt.base.records import Record
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.preparation import Prepared, RunIdentity


class ValidationHistory(Record):
    """Earlier validations, as early stopping and the choice of the best weights need them."""

    best_loss: float | None = None
    best_step: int | None = None
    last_loss: float | None = None
    num_since_best: int = 0
    """Validations since the best one."""

    def after(self, loss: float, step: int) -> "ValidationHistory":
        """The history with one more validation.

        Example:
            losses 3, 2, 4 after steps 10, 20, 30 -> best_loss 2, best_step 20, num_since_best 1
        """
        is_best = self.best_loss is None or loss < self.best_loss
        return ValidationHistory(
            best_loss=loss if is_best else self.best_loss,
            best_step=step if is_best else self.best_step,
            last_loss=loss,
            num_since_best=0 if is_best else self.num_since_best + 1,
        )


class CheckpointRecord(Record):
    """The identity and the checksums of a checkpoint. Its step is also the position in the data."""

    step: int
    identity: RunIdentity
    validation: ValidationHistory
    checksums: dict[str, int]
    """A checksum per array of the state, by name."""


RECORD_FILE = "record.json"
_RECORD_OF_ENGINE = {"jax": "record", "torch": RECORD_FILE}


def require_checkpoints_of(engine: str, directory: Path) -> None:
    """Reject a directory with checkpoints of another engine.

    Raises:
        ConflictError: The checkpoints belong to another engine, which it names.
    """
    for other, record in _RECORD_OF_ENGINE.items():
        found = [path for path in directory.glob(f"*/{record}") if path.parent.name.isdecimal()]
        is_of_other = Path.is_file if other == "torch" else Path.is_dir
        if other != engine and any(map(is_of_other, found)):
            raise engine_mismatch_error(directory, other, engine)


def engine_mismatch_error(directory: Path, started_with: str, engine: str) -> ConflictError:
    """The error of a run that this engine cannot resume."""
    return ConflictError(
        f"The run in {directory} was started with the {started_with} engine, and the {engine} engine cannot "
        "resume it: their optimizer states differ.",
        next_step=f"Add --engine {started_with}, or start another run with a new --output.",
    )


DISK_IS_FULL = "the disk is full"


def require_disk_space(directory: Path, num_bytes: int) -> None:
    """Check before anything is written: a disk that fills up midway also stops the metrics and the log.

    Raises:
        StorageError: The disk has less free space than the checkpoint needs.
    """
    num_free = shutil.disk_usage(directory).free
    if num_free < num_bytes:
        raise checkpoint_write_error(
            directory,
            f"{DISK_IS_FULL}: it needs {num_bytes / 2**20:,.0f} MiB, and {num_free / 2**20:,.0f} are free",
        )


def checkpoint_write_error(directory: Path, reason: str) -> StorageError:
    """The error of a checkpoint that was not written."""
    return StorageError(
        f"A checkpoint cannot be written to {directory}: {reason}.",
        next_step="Free space or choose another --output. Earlier checkpoints are intact; the same command "
        "with --resume continues from them.",
    )


_State = TypeVar("_State")


class DamagedError(Exception):
    """A checkpoint that must not be used, with the reason."""


@dataclass(frozen=True, eq=False)
class Restored(Generic[_State]):
    """A checkpoint that was read and verified."""

    state: _State
    record: CheckpointRecord


class Checkpoints(Protocol[_State]):
    """The checkpoints of one run, as an engine stores them."""

    @property
    def directory(self) -> Path:
        """The directory of the checkpoints."""

    def steps(self) -> list[int]:
        """The steps with a checkpoint, ascending."""

    def read(self, step: int, identity: RunIdentity) -> Restored[_State]:
        """Read an existing checkpoint.

        Raises:
            ConflictError: It belongs to another training.
            DamagedError: It must not be used.
        """

    def move_aside(self, step: int) -> None:
        """Move a damaged checkpoint elsewhere, so that its step can be saved again."""

    def delete_after(self, step: int) -> None:
        """Delete the checkpoints of later steps, which will be repeated."""


@dataclass(frozen=True, eq=False)
class Start(Generic[_State]):
    """The state that a run starts from."""

    step: int = 0
    history: ValidationHistory = field(default_factory=ValidationHistory)
    state: _State | None = None
    """None for a new run: weights are loaded after the plan is known to fit."""
    damaged: Mapping[int, str] = field(default_factory=dict)
    """Step and problem of each damaged checkpoint that was skipped."""


def find_start(job: TrainingJob, checkpoints: Checkpoints[_State], prepared: Prepared) -> Start[_State]:
    """Read the checkpoint that the job requests.

    Raises:
        ConflictError: The checkpoints belong to another training, or exist although the job does not resume.
        NotFoundError: There is no checkpoint of the step.
        DataError: The requested checkpoint, or every one, is damaged.
    """
    if job.resume_from is None:
        if checkpoints.steps():
            raise ConflictError(
                f"{checkpoints.directory} holds checkpoints of another run.",
                next_step="Resume it with --resume, or choose another directory.",
            )
        return Start()
    damaged: dict[int, str] = {}
    if isinstance(job.resume_from, int):
        restored: Restored[_State] | None = restore(checkpoints, job.resume_from, prepared.identity)
    else:
        restored = _restore_newest(checkpoints, prepared.identity, damaged)
    if restored is None:
        return Start()
    step, num_steps = restored.record.step, prepared.num_steps
    if step > num_steps:
        raise ConflictError(
            f"The checkpoint is of step {step}, but the recipe ends after step {num_steps}.",
            next_step=f"Set training.num_steps to {step} or more, or resume from an earlier step.",
        )
    return Start(step, restored.record.validation, restored.state, damaged)


def restore(checkpoints: Checkpoints[_State], step: int, identity: RunIdentity) -> Restored[_State]:
    """Read the checkpoint of one step.

    Raises:
        NotFoundError: There is none.
        ConflictError: It belongs to another training.
        DataError: It is damaged.
    """
    if step not in checkpoints.steps():
        kept = ", ".join(map(str, checkpoints.steps())) or "none"
        raise NotFoundError(
            f"There is no checkpoint of step {step} in {checkpoints.directory}.",
            next_step=f"Resume from one of these steps: {kept}.",
        )
    try:
        return checkpoints.read(step, identity)
    except DamagedError as error:
        raise DataError(
            f"The checkpoint of step {step} is damaged: {error}.",
            next_step="Resume from 'latest' to use the newest intact checkpoint.",
        ) from error


def _restore_newest(
    checkpoints: Checkpoints[_State], identity: RunIdentity, damaged: dict[int, str]
) -> Restored[_State] | None:
    """The newest intact checkpoint, if there is any; damaged ones are moved aside and added to `damaged`."""
    steps = checkpoints.steps()
    for step in reversed(steps):
        try:
            return checkpoints.read(step, identity)
        except DamagedError as error:
            checkpoints.move_aside(step)
            damaged[step] = str(error)
    if steps:
        raise DataError(
            f"Every checkpoint in {checkpoints.directory} is damaged: {', '.join(map(str, steps))}.",
            next_step="Start over with another --output, or restore the directory from a backup.",
        )
    return None
