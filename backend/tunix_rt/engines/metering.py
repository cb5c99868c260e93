"""Metrics of steps that are still running: asked for at once, read a little later, written as lines.

    step        7       8       9
    device  ....[7]....[8]....[9]....
    host    ask 7   ask 8   ask 9, read 7

So the device always has a step to do, and the host never runs further ahead than the batches that are sent.
When a step ended is noted by a thread that does nothing but wait for it: the moment of reading says little.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tunix_rt.core.run_record import MetricsLine
from tunix_rt.engines.device_targets import Devices
from tunix_rt.engines.divergence import Diverged
from tunix_rt.engines.learner import PendingFigures, StepFigures
from tunix_rt.engines.prefetch import SentBatch
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import Progress, RunRecords
from tunix_rt.engines.stopwatch import Stopwatch

NUM_IN_FLIGHT = 2


@dataclass(frozen=True)
class _Running:
    step: int
    num_tokens: int
    batch_sha256: str
    ended: Future["_Ended"]


@dataclass(frozen=True)
class _Ended:
    figures: StepFigures
    ended_s: float


class Meter:
    """Turns what steps return into lines of metrics, in order and never twice."""

    def __init__(
        self,
        prepared: Prepared,
        devices: Devices,
        records: RunRecords,
        *,
        flops: Callable[[int, int], float],
        peak_flops: float | None,
    ) -> None:
        """Measure a run.

        Args:
            prepared: The run.
            devices: What it runs on.
            records: Where lines go.
            flops: Operations of a step, from its tokens and its trained tokens.
            peak_flops: Operations a second that the devices can do at best; None when not known.
        """
        self._prepared = prepared
        self._devices = devices
        self._records = records
        self._flops = flops
        self._peak_flops = peak_flops
        self._running: deque[_Running] = deque()
        self._clock = Stopwatch()
        self._waiter = ThreadPoolExecutor(1, thread_name_prefix="step-end")
        self._peak_memory_bytes: int | None = None
        self.last_line: MetricsLine | None = None

    def add(self, batch: SentBatch[Any], pending: PendingFigures) -> None:
        """Take a step that has just been started; wait for one that is too far behind."""
        ended = self._waiter.submit(_end_of, pending)
        self._running.append(_Running(batch.index + 1, batch.num_tokens, batch.sha256, ended))
        self._settle(NUM_IN_FLIGHT)

    def settle(self) -> None:
        """Wait for every step that was started, and write its line.

        Raises:
            Diverged: One of them met a number that is not finite.
        """
        self._settle(0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time inside is not time of training."""
        started_s = time.monotonic()
        try:
            yield
        finally:
            self._clock.skip(time.monotonic() - started_s)

    @property
    def tokens_per_s(self) -> float | None:
        """Over all steps of this process but the first, which holds the warm-up."""
        return self._clock.overall.tokens_per_s

    @property
    def mfu(self) -> float | None:
        """The same steps' operations as a share of what the devices could do."""
        return self._mfu(self._clock.overall.flops_per_s)

    @property
    def peak_memory_bytes(self) -> int | None:
        """The most memory that the run used, in the processes before a resume too."""
        return _largest(self._records.peak_before_bytes, self._peak_here())

    def _peak_here(self) -> int | None:
        """The most that was seen in this process so far."""
        # Linux estimates its mark anew at every reading: it may be some hundred kB less than the one before.
        # The end of a run must not say less than its lines.
        self._peak_memory_bytes = _largest(self._peak_memory_bytes, self._devices.peak_memory_bytes())
        return self._peak_memory_bytes

    def _settle(self, num_left: int) -> None:
        while len(self._running) > num_left:
            self._read(self._running.popleft())

    def _read(self, running: _Running) -> None:
        ended = running.ended.result()
        if not ended.figures.is_finite:
            raise Diverged(running.step - 1)
        flops = self._flops(running.num_tokens, ended.figures.num_trained_tokens)
        self._clock.count(running.num_tokens, flops, ended.ended_s)
        is_last = running.step == self._prepared.num_steps
        if is_last or running.step % self._prepared.recipe.output.log_every_steps == 0:
            self._write(running, ended.figures)

    def _write(self, running: _Running, figures: StepFigures) -> None:
        speed = self._clock.speed_since_last()
        line = MetricsLine(
            step=running.step,
            epoch=self._prepared.epoch_after(running.step),
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
        self.last_line = line
        self._records.metrics(line)
        num_left = self._prepared.num_steps - running.step
        seconds_per_step = self._clock.seconds_per_step()
        self._records.progress(
            Progress(
                step=running.step,
                num_steps=self._prepared.num_steps,
                loss=line.loss,
                learning_rate=line.lr,
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


def _end_of(pending: PendingFigures) -> _Ended:
    return _Ended(pending(), time.monotonic())
