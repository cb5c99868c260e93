"""What is known of a checkpoint besides its arrays."""

from pydantic import BaseModel, ConfigDict

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
