"""The loop: steps, validations and checkpoints, until the last step, an early stop or a signal."""

import signal
from dataclasses import dataclass, replace
from typing import Any

from tunix_rt.engines.checkpoint_record import CheckpointRecord, ValidationHistory
from tunix_rt.engines.interrupts import StopRequest
from tunix_rt.engines.jax.checkpoints import Checkpoints, checksums
from tunix_rt.engines.jax.divergence import (
    Diverged,
    diverged_error,
    without_divergence,
    write_diverged_batch,
)
from tunix_rt.engines.jax.fitting import CompiledTrainStep
from tunix_rt.engines.jax.metering import Meter
from tunix_rt.engines.jax.prefetch import prefetched
from tunix_rt.engines.jax.program import Program
from tunix_rt.engines.jax.state import TrainState
from tunix_rt.engines.jax.validation import Validator
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import RunRecords


@dataclass(frozen=True, eq=False)
class Position:
    """Where a run is between two steps."""

    step: int
    """Updates that the state has behind it; also the index of the next batch."""
    state: TrainState
    history: ValidationHistory


@dataclass(frozen=True, eq=False)
class LoopParts:
    """Everything that the loop works with."""

    prepared: Prepared
    program: Program
    train_step: CompiledTrainStep
    checkpoints: Checkpoints
    records: RunRecords
    meter: Meter
    stop: StopRequest


def run_steps(parts: LoopParts, position: Position, frozen: Any) -> Position:
    """Train from a position to the end, and save what is there then.

    Raises:
        DivergedError: A number was not finite. The state before it is saved, its batch written down.
        StorageError: A checkpoint cannot be written.
    """
    batches, put = parts.prepared.batches, parts.program.put_batch
    indices = range(position.step, parts.prepared.num_steps)
    with parts.stop.finishing_steps(), prefetched(batches, put, indices) as sent:
        try:
            while not _is_over(parts, position):
                batch = next(sent)
                state, metrics = parts.train_step(position.state, frozen, batch.arrays)
                position = replace(position, step=batch.index + 1, state=state)
                parts.meter.add(batch, metrics)
                position = _between_steps(parts, position, frozen)
        except Diverged as divergence:
            raise _stopped_by(divergence, parts, position) from divergence
    with parts.records.timed("save"):
        parts.checkpoints.wait()
    return position


def _between_steps(parts: LoopParts, position: Position, frozen: Any) -> Position:
    """Validate and save when it is time."""
    validator = Validator(parts.program, parts.prepared)
    is_best = False
    if validator.is_due(position.step):
        parts.meter.settle()
        with parts.meter.paused(), parts.records.timed("validate"):
            line = validator.validate(position.state.trainable, frozen, step=position.step)
        history = position.history.after(line.validation_loss, position.step)
        parts.records.metrics(line)
        parts.records.say(f"step {position.step}: validation loss {line.validation_loss:.4f}")
        position, is_best = replace(position, history=history), history.best_step == position.step
    every_steps = parts.prepared.recipe.output.save_every_steps
    is_due = every_steps is not None and position.step % every_steps == 0
    if is_due or is_best or _is_over(parts, position):
        _save(parts, position)
    return position


def _is_over(parts: LoopParts, position: Position) -> bool:
    return (
        position.step >= parts.prepared.num_steps
        or parts.stop.signal_number is not None
        or is_stopped_early(parts.prepared, position.history)
    )


def is_stopped_early(prepared: Prepared, history: ValidationHistory) -> bool:
    """Whether the validation loss has not become better for as long as the recipe waits."""
    patience = prepared.recipe.eval.early_stop_patience
    return patience is not None and history.num_since_best >= patience


def _save(parts: LoopParts, position: Position) -> None:
    if parts.stop.signal_number is not None:
        name = signal.Signals(parts.stop.signal_number).name
        parts.records.event("stopping", f"{name}: saving step {position.step}; again to stop at once")
    # A checkpoint never knows more steps than the metrics do, whenever the process dies.
    parts.meter.settle()
    parts.records.sync()
    with parts.meter.paused(), parts.records.timed("save"):
        _write_checkpoint(parts, position)


def _write_checkpoint(parts: LoopParts, position: Position) -> None:
    record = CheckpointRecord(
        step=position.step,
        identity=parts.prepared.identity,
        validation=position.history,
        checksums=checksums(position.state),
    )
    parts.checkpoints.save(position.state, record)
    parts.records.event("checkpoint", f"saving a checkpoint of step {position.step}", step=position.step)


def _stopped_by(divergence: Diverged, parts: LoopParts, position: Position) -> Exception:
    """Save the last good state, write the batch down, and say what happened."""
    index = divergence.batch_index
    write_diverged_batch(parts.prepared, index, parts.records)
    parts.records.event("diverged", f"step {index + 1} met a number that is not finite", step=index + 1)
    if index not in (0, *parts.checkpoints.steps()):
        # The update was not applied: this is still the state before it.
        _write_checkpoint(parts, replace(position, step=index, state=without_divergence(position.state)))
    parts.checkpoints.wait()
    return diverged_error(index, parts.checkpoints.steps())
