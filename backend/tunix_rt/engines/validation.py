"""The loss on rows that are never trained on."""

import math
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime

from tunix_rt.base.errors import DivergedError
from tunix_rt.core.run_record import ValidationLine
from tunix_rt.engines.learner import Learner, PendingSums
from tunix_rt.engines.metering import NUM_IN_FLIGHT
from tunix_rt.engines.prefetch import prefetched
from tunix_rt.engines.preparation import Prepared


def is_validation_due(prepared: Prepared, step: int) -> bool:
    """Whether the recipe wants a validation after this step; the last step always has one."""
    every_steps = prepared.recipe.eval.every_steps
    return every_steps is not None and (step % every_steps == 0 or step == prepared.num_steps)


def validate(learner: Learner, prepared: Prepared, *, step: int) -> ValidationLine:
    """The mean loss over the trained tokens of the validation batches, each token counted once.

    Raises:
        DivergedError: It is not a finite number.
    """
    sums = list(_sums(learner, prepared))
    num_tokens = sum(tokens for _, tokens in sums)
    return ValidationLine(
        step=step,
        epoch=prepared.epoch_after(step),
        validation_loss=_finite(sum(loss for loss, _ in sums) / num_tokens, step),
        validation_tokens=int(num_tokens),
        time=datetime.now(UTC),
    )


def _sums(learner: Learner, prepared: Prepared) -> Iterator[tuple[float, float]]:
    """Losses and tokens of every batch. The host stays a few batches ahead of the device, and no more."""
    assert prepared.validation is not None  # the recipe validates, so its split was read
    running: deque[PendingSums] = deque()
    indices = range(prepared.num_validation_batches)
    with prefetched(prepared.validation, learner.send, indices) as batches:
        for batch in batches:
            running.append(learner.loss_sums(batch.arrays))
            if len(running) > NUM_IN_FLIGHT:
                yield running.popleft()()
        while running:
            yield running.popleft()()


def _finite(loss: float, step: int) -> float:
    if math.isfinite(loss):
        return loss
    raise DivergedError(
        f"The validation loss after step {step} is {loss}, although every training loss was finite.",
        next_step="Lower training.learning_rate, and look at the rows of the validation split.",
    )
