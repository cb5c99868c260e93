"""Checkpoint records; where a run starts or resumes.

checkpoints/<step>/record/        the JAX engine's, written by Orbax
checkpoints/<step>/record.json    the torch engine's
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError, StorageError
from tunix_rt.engines.training.job import TrainingJob
from tunix_rt.engines.training.preparation import Prepared, RunIdentity


class ValidationHistory(BaseModel):
    """What early stopping and the choice of the best weights need to know of earlier validations."""

    model_config = ConfigDict(frozen=True, extra="forbid")
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


class CheckpointRecord(BaseModel):
    """What a checkpoint belongs to and how it is proved. The position in the data is the step."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    step: int
    identity: RunIdentity
    validation: ValidationHistory
    checksums: dict[str, int]
    """One number for each array of the state, by its name."""


RECORD_FILE = "record.json"
_RECORD_OF_ENGINE = {"jax": "record", "torch": RECORD_FILE}


def require_checkpoints_of(engine: str, directory: Path) -> None:
    """Refuse a directory in which another engine keeps its checkpoints.

    Raises:
        ConflictError: names the engine.
    """
    for other, record in _RECORD_OF_ENGINE.items():
        if other != engine and any(
            path.parent.name.isdecimal() and _is_of(other, path) for path in directory.glob(f"*/{record}")
        ):
            raise engine_mismatch_error(directory, other, engine)


def engine_mismatch_error(directory: Path, begun_by: str, engine: str) -> ConflictError:
    """The error of a run whose state this engine cannot read."""
    return ConflictError(
        f"The run in {directory} was begun by the {begun_by} engine, and the {engine} engine cannot go on "
        "with it: their optimizer states are not the same.",
        next_step=f"Add --engine {begun_by}, or start another run with a new --output.",
    )


def _is_of(engine: str, record: Path) -> bool:
    return record.is_file() if engine == "torch" else record.is_dir()


DISK_IS_FULL = "the disk is full"


def require_disk_space(directory: Path, num_bytes: int) -> None:
    """Refuse before anything is written: a disk that fills up half-way also stops the metrics and the log.

    Raises:
        StorageError: There is less room than the checkpoint takes.
    """
    num_free = shutil.disk_usage(directory).free
    if num_free < num_bytes:
        raise checkpoint_write_error(
            directory,
            f"{DISK_IS_FULL}: it needs {num_bytes / 2**20:,.0f} MiB of {num_free / 2**20:,.0f} MiB free",
        )


def checkpoint_write_error(directory: Path, reason: str) -> StorageError:
    """The error of a checkpoint that did not get to the disk."""
    return StorageError(
        f"A checkpoint cannot be written to {directory}: {reason}.",
        next_step="Free space or choose another --output; the checkpoints before it are whole, and the same "
        "command with --resume goes on from them.",
    )


_State = TypeVar("_State")


class DamagedError(Exception):
    """A checkpoint that must not be used; says why."""


@dataclass(frozen=True)
class DamagedCheckpoint:
    """A checkpoint that was passed over."""

    step: int
    problem: str


@dataclass(frozen=True, eq=False)
class Restored(Generic[_State]):
    """A checkpoint that was read and proved."""

    state: _State
    record: CheckpointRecord


class Checkpoints(Protocol[_State]):
    """The checkpoints of one run, as an engine keeps them."""

    @property
    def directory(self) -> Path:
        """Where they are."""

    def steps(self) -> list[int]:
        """The steps that have one, ascending."""

    def read(self, step: int, identity: RunIdentity) -> Restored[_State]:
        """Read one that is there.

        Raises:
            ConflictError: It is of another training.
            DamagedError: It must not be used.
        """

    def move_aside(self, step: int) -> None:
        """Keep a damaged one elsewhere, so that its step can be saved again."""

    def delete_after(self, step: int) -> None:
        """Delete those of later steps, which will be done again."""


@dataclass(frozen=True, eq=False)
class Start(Generic[_State]):
    """The state that a run goes on from."""

    step: int = 0
    history: ValidationHistory = field(default_factory=ValidationHistory)
    state: _State | None = None
    """None at the beginning: the weights are loaded when it is known that they fit."""
    damaged: tuple[DamagedCheckpoint, ...] = ()


def find_start(job: TrainingJob, checkpoints: Checkpoints[_State], prepared: Prepared) -> Start[_State]:
    """Read the checkpoint that the job asks for.

    Raises:
        ConflictError: The checkpoints belong to another training, or are there although none was asked for.
        NotFoundError: There is no checkpoint of the step.
        DataError: The one asked for, or every one, is damaged.
    """
    if job.resume_from is None:
        _refuse_checkpoints(checkpoints)
        return Start()
    damaged: list[DamagedCheckpoint] = []
    if isinstance(job.resume_from, int):
        restored: Restored[_State] | None = restore(checkpoints, job.resume_from, prepared.identity)
    else:
        restored = restore_newest(checkpoints, prepared.identity, on_damaged=damaged.append)
    if restored is None:
        return Start()
    _refuse_beyond_the_end(restored.record.step, prepared.num_steps)
    return Start(restored.record.step, restored.record.validation, restored.state, tuple(damaged))


def restore(checkpoints: Checkpoints[_State], step: int, identity: RunIdentity) -> Restored[_State]:
    """Read the checkpoint of one step.

    Raises:
        NotFoundError: There is none.
        ConflictError: It is of another training.
        DataError: It is damaged.
    """
    if step not in checkpoints.steps():
        kept = ", ".join(map(str, checkpoints.steps())) or "none"
        raise NotFoundError(
            f"There is no checkpoint of step {step} in {checkpoints.directory}.",
            next_step=f"Resume from one of the steps that are kept: {kept}.",
        )
    try:
        return checkpoints.read(step, identity)
    except DamagedError as error:
        raise DataError(
            f"The checkpoint of step {step} is damaged: {error}.",
            next_step="Resume from 'latest' to take the newest one that is whole.",
        ) from error


def restore_newest(
    checkpoints: Checkpoints[_State],
    identity: RunIdentity,
    *,
    on_damaged: Callable[[DamagedCheckpoint], None],
) -> Restored[_State] | None:
    """Read the newest checkpoint that is whole; None when there are no checkpoints.

    Damaged ones are told to `on_damaged` and moved aside.

    Raises:
        ConflictError: They are of another training.
        DataError: There are checkpoints, and every one is damaged.
    """
    steps = checkpoints.steps()
    for step in reversed(steps):
        try:
            return checkpoints.read(step, identity)
        except DamagedError as error:
            checkpoints.move_aside(step)
            on_damaged(DamagedCheckpoint(step, str(error)))
    if steps:
        raise DataError(
            f"Every checkpoint in {checkpoints.directory} is damaged: {', '.join(map(str, steps))}.",
            next_step="Start again with another --output, or restore the directory from a copy.",
        )
    return None


def _refuse_checkpoints(checkpoints: Checkpoints[_State]) -> None:
    if checkpoints.steps():
        raise ConflictError(
            f"{checkpoints.directory} holds checkpoints of another run.",
            next_step="Go on from them with --resume, or choose another directory.",
        )


def _refuse_beyond_the_end(step: int, num_steps: int) -> None:
    if step > num_steps:
        raise ConflictError(
            f"The checkpoint is of step {step}, but the recipe ends after {num_steps}.",
            next_step=f"Set training.num_steps to {step} or more, or resume from an earlier step.",
        )
