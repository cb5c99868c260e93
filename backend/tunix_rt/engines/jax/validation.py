"""The loss on rows that are never trained on."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import jax
from jax import Array

from tunix_rt.core.errors import DivergedError
from tunix_rt.core.run_record import ValidationLine
from tunix_rt.engines.jax.metering import NUM_IN_FLIGHT
from tunix_rt.engines.jax.prefetch import prefetched
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.preparation import Prepared


@dataclass(frozen=True, eq=False)
class Validator:
    """Computes the validation loss of any weights of a run."""

    program: Program
    prepared: Prepared

    def is_due(self, step: int) -> bool:
        """Whether the recipe wants a validation after this step; the last step always has one."""
        every_steps = self.prepared.recipe.eval.every_steps
        return every_steps is not None and (step % every_steps == 0 or step == self.prepared.num_steps)

    def validate(self, trainable: Any, frozen: Any, *, step: int) -> ValidationLine:
        """The mean loss over the trained tokens of the validation batches, each token counted once."""
        assert self.prepared.validation is not None  # the recipe validates, so its split was read
        indices = range(self.prepared.num_validation_batches)
        sums: list[tuple[Array, Array]] = []
        with prefetched(self.prepared.validation, self.program.put_batch, indices) as batches:
            for batch in batches:
                sums.append(self.program.validation_step(trainable, frozen, batch.arrays))
                # As in training, the host stays a few batches ahead of the device and no more.
                jax.block_until_ready(sums[:-NUM_IN_FLIGHT][-1:])
        num_tokens = sum(float(tokens) for _, tokens in sums)
        return ValidationLine(
            step=step,
            epoch=self.prepared.epoch_after(step),
            validation_loss=_finite(sum(float(loss) for loss, _ in sums) / num_tokens, step),
            validation_tokens=int(num_tokens),
            time=datetime.now(UTC),
        )


def _finite(loss: float, step: int) -> float:
    if math.isfinite(loss):
        return loss
    raise DivergedError(
        f"The validation loss after step {step} is {loss}, although every training loss was finite.",
        next_step="Lower training.learning_rate, and look at the rows of the validation split.",
    )
