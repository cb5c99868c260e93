"""What is known of a checkpoint besides its arrays, and who wrote it.

checkpoints/<step>/record/        the JAX engine's, written by Orbax
checkpoints/<step>/record.json    the torch engine's
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tunix_rt.base.errors import ConflictError
from tunix_rt.engines.identity import RunIdentity


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
            raise begun_by_another_engine(directory, other, engine)


def begun_by_another_engine(directory: Path, begun_by: str, engine: str) -> ConflictError:
    """The error of a run whose state this engine cannot read."""
    return ConflictError(
        f"The run in {directory} was begun by the {begun_by} engine, and the {engine} engine cannot go on "
        "with it: their optimizer states are not the same.",
        next_step=f"Add --engine {begun_by}, or start another run with a new --output.",
    )


def _is_of(engine: str, record: Path) -> bool:
    return record.is_file() if engine == "torch" else record.is_dir()
