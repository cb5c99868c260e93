"""The training loop: steps, validations, checkpoints, early stopping."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tunix_rt.base.errors import DivergedError
from tunix_rt.base.signals import StopRequest
from tunix_rt.engines.training.backend import PendingSums, TrainingBackend, prefetched
from tunix_rt.engines.training.checkpointing import ValidationHistory
from tunix_rt.engines.training.metrics import (
    NUM_IN_FLIGHT,
    Meter,
    NonFiniteStep,
    diverged_error,
    write_diverged_batch,
)
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.training.records import RunRecords
from tunix_rt.engines.training.types import ValidationLine


def is_validation_due(prepared: Prepared, step: int) -> bool:
    """Whether a validation follows this step; in a recipe that validates, the last step always has one."""
    every_steps = prepared.recipe.eval.every_steps
    return every_steps is not None and (step % every_steps == 0 or step == prepared.num_steps)


def validate(backend: TrainingBackend, prepared: Prepared, *, step: int) -> ValidationLine:
    """The mean loss over the trained tokens of the validation batches, each token counted once.

    Raises:
        DivergedError: The loss is not finite.
    """
    sums = list(_sums(backend, prepared))
    num_tokens = sum(tokens for _, tokens in sums)
    loss = sum(loss for loss, _ in sums) / num_tokens
    if not math.isfinite(loss):
        raise DivergedError(
            f"The validation loss after step {step} is {loss}, although every training loss was finite.",
            next_step="Lower training.learning_rate, and check the rows of the validation split.",
        )
    return ValidationLine(
        step=step,
        epoch=prepared.epoch_after(step),
        validation_loss=loss,
        validation_tokens=int(num_tokens),
        time=datetime.now(UTC),
    )


def _sums(backend: TrainingBackend, prepared: Prepared) -> Iterator[tuple[float, float]]:
    """Losses and tokens of every batch. The host stays a few batches ahead of the device, not more."""
    assert prepared.validation is not None  # the recipe validates, so its split was read
    running: deque[PendingSums] = deque()
    indices = range(prepared.num_validation_batches)
    with prefetched(prepared.validation, backend.put, indices) as batches:
        for batch in batches:
            running.append(backend.loss_sums(batch.arrays))
            if len(running) > NUM_IN_FLIGHT:
                yield running.popleft()()
        while running:
            yield running.popleft()()


@dataclass(frozen=True)
class Position:
    """The position of a run between two steps."""

    step: int
    """Completed updates; also the index of the next batch."""
    history: ValidationHistory


@dataclass(frozen=True, eq=False)
class LoopParts:
    """Everything that the loop needs."""

    prepared: Prepared
    backend: TrainingBackend
    records: RunRecords
    meter: Meter
    stop: StopRequest


def run_steps(parts: LoopParts, position: Position) -> Position:
    """Train from a position to the end, and save the final state.

    Raises:
        DivergedError: A step was not finite. The state before it and its batch are saved.
        StorageError: A checkpoint cannot be written.
    """
    backend = parts.backend
    indices = range(position.step, parts.prepared.num_steps)
    _check_deadline(parts, position)
    with parts.stop.finishing_steps(), prefetched(parts.prepared.batches, backend.put, indices) as sent:
        try:
            while not _is_over(parts, position):
                batch = next(sent)
                parts.meter.add(batch, backend.step(batch.arrays, batch.index))
                position = _between_steps(parts, replace(position, step=batch.index + 1))
        except NonFiniteStep as divergence:
            raise _stopped_by(divergence, parts, position) from divergence
    with parts.records.timed("save"):
        backend.wait_until_saved()
    return position


def _between_steps(parts: LoopParts, position: Position) -> Position:
    """Validate and save when they are due."""
    is_best = False
    if is_validation_due(parts.prepared, position.step):
        position = _validated(parts, position)
        is_best = position.history.best_step == position.step
    _check_deadline(parts, position)
    every_steps = parts.prepared.recipe.output.save_every_steps
    is_due = every_steps is not None and position.step % every_steps == 0
    if is_due or is_best or _is_over(parts, position):
        _save(parts, position)
    return position


def _validated(parts: LoopParts, position: Position) -> Position:
    parts.meter.flush()
    with parts.meter.paused(), parts.records.timed("validate"):
        line = validate(parts.backend, parts.prepared, step=position.step)
    parts.records.metrics(line)
    parts.records.log(f"step {position.step}: validation loss {line.validation_loss:.4f}")
    return replace(position, history=position.history.after(line.validation_loss, position.step))


def _check_deadline(parts: LoopParts, position: Position) -> None:
    # A run that has finished its last step is exported, however late it is.
    if not _is_over(parts, position):
        parts.stop.check_deadline()


def _is_over(parts: LoopParts, position: Position) -> bool:
    return (
        position.step >= parts.prepared.num_steps
        or parts.stop.is_made
        or is_stopped_early(parts.prepared, position.history)
    )


def is_stopped_early(prepared: Prepared, history: ValidationHistory) -> bool:
    """Whether the validation loss has not improved within the recipe's patience."""
    patience = prepared.recipe.eval.early_stop_patience
    return patience is not None and history.num_since_best >= patience


def _save(parts: LoopParts, position: Position) -> None:
    if parts.stop.is_made:
        again = "; send it again to stop immediately" if parts.stop.signal_number is not None else ""
        parts.records.event("stopping", f"{parts.stop.reason}: saving step {position.step}{again}")
    # The metrics on disk always cover the steps of a checkpoint, whenever the process dies.
    parts.meter.flush()
    parts.records.sync()
    with parts.meter.paused(), parts.records.timed("save"):
        _write_checkpoint(parts, position)


def _write_checkpoint(parts: LoopParts, position: Position) -> None:
    parts.backend.save(position.step, position.history)
    parts.records.event("checkpoint", f"saving a checkpoint of step {position.step}", step=position.step)


def _stopped_by(divergence: NonFiniteStep, parts: LoopParts, position: Position) -> Exception:
    """Save the last good state and the batch, and return the error."""
    index, backend = divergence.batch_index, parts.backend
    write_diverged_batch(parts.prepared, index, parts.records)
    message = f"the loss or a gradient of step {index + 1} is not finite"
    parts.records.event("diverged", message, step=index + 1)
    if index not in (0, *backend.saved_steps()):
        # The update was not applied: this is still the state before it.
        _write_checkpoint(parts, replace(position, step=index))
    backend.wait_until_saved()
    return diverged_error(index, backend.saved_steps())
