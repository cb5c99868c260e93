"""Loss, throughput and MFU of running steps; steps that are not finite.

The host reads a step two steps after it was started:

    step    7         8         9
    device  ....[7]....[8]....[9]....
    host    start 7   start 8   start 9, read 7

The device always has a step to run, and the host never gets further ahead than the prefetched batches. A
thread that only waits for the steps takes their end times: the time of reading says little about them.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from tunix_rt.base.errors import DivergedError
from tunix_rt.engines.planning.step import model_flops
from tunix_rt.engines.planning.targets import Devices, peak_flops
from tunix_rt.engines.training.backend import PendingFigures, PrefetchedBatch, StepFigures
from tunix_rt.engines.training.preparation import Prepared
from tunix_rt.engines.training.records import Progress, RunRecords
from tunix_rt.engines.training.types import MetricsLine

BATCH_FILE = "diverged_batch.json"
ARRAYS_FILE = "diverged_batch.npz"


class NonFiniteStep(Exception):
    """The loss or a gradient of a step is not finite; its update was not applied."""

    def __init__(self, batch_index: int) -> None:
        super().__init__(batch_index)
        self.batch_index = batch_index


def write_diverged_batch(prepared: Prepared, index: int, records: RunRecords) -> None:
    """Save the batch: the ids of its traces, and its arrays as the step got them."""
    batch = prepared.batches.batch(index)
    trace_ids = prepared.trace_ids({example for row in batch.examples for example in row})
    records.write_arrays(
        ARRAYS_FILE,
        {
            "tokens": batch.tokens,
            "targets": batch.targets,
            "loss_mask": batch.loss_mask,
            "segment_ids": batch.segment_ids,
            "positions": batch.positions,
        },
    )
    records.write_json(
        BATCH_FILE,
        {
            "step": index + 1,
            "dataset": prepared.data.name,
            "split": prepared.data.train.split,
            "arrays": ARRAYS_FILE,
            "rows": [
                [{"example": example, "trace_id": trace_ids[example]} for example in row]
                for row in batch.examples
            ],
            "num_trained_tokens": int(np.count_nonzero(batch.loss_mask)),
        },
    )


def diverged_error(index: int, kept_steps: Sequence[int]) -> DivergedError:
    """The error of the run, and what to try."""
    last_good = (
        f"The last good state is the checkpoint of step {kept_steps[-1]}"
        if kept_steps
        else "No step was finite"
    )
    return DivergedError(
        f"The loss or a gradient of step {index + 1} is not a finite number. {last_good}; "
        f"the batch is in {BATCH_FILE}.",
        next_step="Lower training.learning_rate, lengthen training.warmup_steps or set "
        "training.max_grad_norm, and check the traces of the batch.",
    )


class Speed(NamedTuple):
    """Work per second; None when nothing was measured."""

    tokens_per_s: float | None = None
    flops_per_s: float | None = None


class Stopwatch:
    """Work over time. The first step only starts the clock, because it includes the warm-up."""

    def __init__(self) -> None:
        self._started_s: float | None = None
        self._last_line_s = self._last_end_s = 0.0
        self._at_last_line = (0, 0.0)
        self._num_tokens, self._flops, self._num_steps = 0, 0.0, 0

    def count(self, num_tokens: int, flops: float, ended_s: float) -> None:
        """Add a step that ended at this time of the monotonic clock."""
        self._last_end_s = ended_s
        if self._started_s is None:
            self._started_s = self._last_line_s = ended_s
            return
        self._num_tokens += num_tokens
        self._flops += flops
        self._num_steps += 1

    def skip(self, seconds: float) -> None:
        """Exclude time in which no step was running."""
        if self._started_s is not None:
            self._started_s += seconds
            self._last_line_s += seconds
            self._last_end_s += seconds

    def speed_since_last(self) -> Speed:
        """The speed of the steps since the previous call."""
        num_tokens, flops = self._at_last_line
        seconds = self._last_end_s - self._last_line_s
        speed = _speed(self._num_tokens - num_tokens, self._flops - flops, seconds)
        self._last_line_s, self._at_last_line = self._last_end_s, (self._num_tokens, self._flops)
        return speed

    @property
    def overall(self) -> Speed:
        """The speed of all steps but the first."""
        return _speed(self._num_tokens, self._flops, self._last_end_s - (self._started_s or 0.0))

    def seconds_per_step(self) -> float | None:
        """The mean over all steps but the first; None before the second one."""
        if self._started_s is None or not self._num_steps:
            return None
        return (self._last_end_s - self._started_s) / self._num_steps


def _speed(num_tokens: int, flops: float, seconds: float) -> Speed:
    return Speed(num_tokens / seconds, flops / seconds) if num_tokens and seconds > 0 else Speed()


NUM_IN_FLIGHT = 2


@dataclass(frozen=True)
class _Running:
    step: int
    num_tokens: int
    batch_sha256: str
    ended: Future[tuple[StepFigures, float]]
    """The figures, and the time at which the step ended."""


class Meter:
    """Turns the figures of steps into metrics lines, in order and once each."""

    def __init__(self, prepared: Prepared, devices: Devices, records: RunRecords) -> None:
        self._prepared = prepared
        self._devices = devices
        self._records = records
        self._peak_flops = peak_flops(devices)
        self._running: deque[_Running] = deque()
        self._clock = Stopwatch()
        self._waiter = ThreadPoolExecutor(1, thread_name_prefix="step-end")
        self._peak_memory_bytes: int | None = None
        self.last_line: MetricsLine | None = None

    def add(self, batch: PrefetchedBatch[Any], pending: PendingFigures) -> None:
        """Add a step that was just started; waits for the oldest one when too many are running."""
        ended = self._waiter.submit(lambda: (pending(), time.monotonic()))
        self._running.append(_Running(batch.index + 1, batch.num_tokens, batch.sha256, ended))
        self.flush(NUM_IN_FLIGHT)

    def flush(self, num_left: int = 0) -> None:
        """Wait for all started steps but the last `num_left`, and write their lines.

        Raises:
            NonFiniteStep: The loss or a gradient of one of them is not finite.
        """
        while len(self._running) > num_left:
            self._read(self._running.popleft())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time inside from the training time."""
        started_s = time.monotonic()
        try:
            yield
        finally:
            self._clock.skip(time.monotonic() - started_s)

    @property
    def tokens_per_s(self) -> float | None:
        """Over all steps of this process but the first, which includes the warm-up."""
        return self._clock.overall.tokens_per_s

    @property
    def mfu(self) -> float | None:
        """The model FLOPs of the same steps, as a share of the peak of the devices."""
        return self._mfu(self._clock.overall.flops_per_s)

    @property
    def peak_memory_bytes(self) -> int | None:
        """The peak memory of the run, including the processes before a resume."""
        return _largest(self._records.peak_before_bytes, self._peak_here())

    def _peak_here(self) -> int | None:
        """The peak memory of this process so far."""
        # Linux estimates the peak anew at every reading, and it may drop by some hundred kB. The figure of a
        # run must not be below those of its lines.
        self._peak_memory_bytes = _largest(self._peak_memory_bytes, self._devices.peak_memory_bytes())
        return self._peak_memory_bytes

    def _read(self, running: _Running) -> None:
        figures, ended_s = running.ended.result()
        if not figures.is_finite:
            raise NonFiniteStep(running.step - 1)
        prepared, step = self._prepared, running.step
        flops = model_flops(
            prepared.source.architecture,
            prepared.recipe,
            num_tokens=running.num_tokens,
            num_trained_tokens=figures.num_trained_tokens,
        )
        self._clock.count(running.num_tokens, flops, ended_s)
        if step != prepared.num_steps and step % prepared.recipe.output.log_every_steps:
            return
        speed, seconds_per_step = self._clock.speed_since_last(), self._clock.seconds_per_step()
        self.last_line = MetricsLine(
            step=step,
            epoch=prepared.epoch_after(step),
            loss=figures.loss,
            lr=figures.learning_rate,
            grad_norm=figures.grad_norm,
            tokens=running.num_tokens,
            trained_tokens=figures.num_trained_tokens,
            tokens_per_s=speed.tokens_per_s,
            mfu=self._mfu(speed.flops_per_s),
            peak_memory_bytes=self._peak_here(),
            batch_sha256=running.batch_sha256,
            time=datetime.now(UTC),
        )
        self._records.metrics(self.last_line)
        num_left = prepared.num_steps - step
        self._records.progress(
            Progress(
                step=step,
                num_steps=prepared.num_steps,
                loss=figures.loss,
                learning_rate=figures.learning_rate,
                tokens_per_s=speed.tokens_per_s,
                seconds_left=None if seconds_per_step is None else num_left * seconds_per_step,
            )
        )

    def _mfu(self, flops_per_s: float | None) -> float | None:
        if flops_per_s is None or self._peak_flops is None:
            return None
        return flops_per_s / self._peak_flops


def _largest(*known: int | None) -> int | None:
    return max((value for value in known if value is not None), default=None)
