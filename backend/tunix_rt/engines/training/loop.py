"""The training loop: steps, validations, checkpoints, early stopping."""

import math
from collections import deque
from dataclasses import dataclass
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


def validate(backend: TrainingBackend, prepared: Prepared, *, step: int) -> ValidationLine:
    """The mean loss over the trained tokens of the validation batches, each token counted once.

    Raises:
        DivergedError: The loss is not finite.
    """
    assert prepared.validation is not None  # the recipe validates, so its split was read
    running: deque[PendingSums] = deque()
    sums: list[tuple[float, float]] = []
    indices = range(prepared.num_validation_batches)
    with prefetched(prepared.validation, backend.put, indices) as batches:
        for batch in batches:
            running.append(backend.loss_sums(batch.arrays))
            # The host stays a few batches ahead of the device, not more.
            if len(running) > NUM_IN_FLIGHT:
                sums.append(running.popleft()())
        sums += [pending() for pending in running]
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


def is_stopped_early(prepared: Prepared, history: ValidationHistory) -> bool:
    """Whether the validation loss has not improved within the recipe's patience."""
    patience = prepared.recipe.eval.early_stop_patience
    return patience is not None and history.num_since_best >= patience


@dataclass(eq=False)
class TrainingLoop:
    """The steps of a run from its start on; `step` and `history` advance."""

    prepared: Prepared
    backend: TrainingBackend
    records: RunRecords
    meter: Meter
    stop: StopRequest
    step: int
    """Completed updates; also the index of the next batch."""
    history: ValidationHistory

    def run(self) -> None:
        """Train to the end, and save the final state.

        Raises:
            DivergedError: A step was not finite. The state before it and its batch are saved.
            StorageError: A checkpoint cannot be written.
        """
        backend, batches = self.backend, self.prepared.batches
        indices = range(self.step, self.prepared.num_steps)
        self._check_deadline()
        with self.stop.finishing_steps(), prefetched(batches, backend.put, indices) as sent:
            try:
                while not self._is_over():
                    batch = next(sent)
                    self.meter.add(batch, backend.step(batch.arrays, batch.index))
                    self.step = batch.index + 1
                    self._validate_and_save()
            except NonFiniteStep as divergence:
                raise self._diverged(divergence.batch_index) from divergence
        with self.records.timed("save"):
            backend.wait_until_saved()

    def _is_over(self) -> bool:
        is_done = self.step >= self.prepared.num_steps
        return is_done or self.stop.is_made or is_stopped_early(self.prepared, self.history)

    def _check_deadline(self) -> None:
        # A run that has finished its last step is exported, however late it is.
        if not self._is_over():
            self.stop.check_deadline()

    def _validate_and_save(self) -> None:
        """Validate and save when they are due; a recipe that validates does so after the last step too."""
        recipe, step, is_best = self.prepared.recipe, self.step, False
        every_steps = recipe.eval.every_steps
        if every_steps is not None and (step % every_steps == 0 or step == self.prepared.num_steps):
            self.meter.flush()
            with self.meter.paused(), self.records.timed("validate"):
                line = validate(self.backend, self.prepared, step=step)
            self.records.metrics(line)
            self.records.log(f"step {step}: validation loss {line.validation_loss:.4f}")
            self.history = self.history.after(line.validation_loss, step)
            is_best = self.history.best_step == step
        self._check_deadline()
        save_every_steps = recipe.output.save_every_steps
        is_due = save_every_steps is not None and step % save_every_steps == 0
        if not (is_due or is_best or self._is_over()):
            return
        if self.stop.is_made:
            again = "; send it again to stop immediately" if self.stop.signal_number is not None else ""
            self.records.event("stopping", f"{self.stop.reason}: saving step {step}{again}")
        # The metrics on disk always cover the steps of a checkpoint, whenever the process dies.
        self.meter.flush()
        self.records.sync()
        with self.meter.paused(), self.records.timed("save"):
            self._save(step)

    def _save(self, step: int) -> None:
        self.backend.save(step, self.history)
        self.records.event("checkpoint", f"saving a checkpoint of step {step}", step=step)

    def _diverged(self, index: int) -> DivergedError:
        """Save the last good state and the batch, and return the error."""
        write_diverged_batch(self.prepared, index, self.records)
        message = f"the loss or a gradient of step {index + 1} is not finite"
        self.records.event("diverged", message, step=index + 1)
        if index not in (0, *self.backend.saved_steps()):
            # The update was not applied: this is still the state before it.
            self._save(index)
        self.backend.wait_until_saved()
        return diverged_error(index, self.backend.saved_steps())
