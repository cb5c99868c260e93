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

import jax

from tunix_rt.core.run_record import MetricsLine
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.divergence import Diverged
from tunix_rt.engines.jax.prefetch import SentBatch
from tunix_rt.engines.jax.state import NOT_DIVERGED, StepMetrics
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import Progress, RunRecords
from tunix_rt.engines.stopwatch import Stopwatch

NUM_IN_FLIGHT = 2


@dataclass(frozen=True)
class _Running:
    step: int
    num_tokens: int
    metrics: StepMetrics
    ended_s: Future[float]


class Meter:
    """Turns what steps return into lines of metrics, in order and never twice."""

    def __init__(
        self,
        prepared: Prepared,
        choice: DeviceChoice,
        records: RunRecords,
        *,
        flops: Callable[[int, int], float],
        peak_flops: float | None,
    ) -> None:
        """Measure a run.

        Args:
            prepared: The run.
            choice: Its devices.
            records: Where lines go.
            flops: Operations of a step, from its tokens and its trained tokens.
            peak_flops: Operations a second that the devices can do at best; None when not known.
        """
        self._prepared = prepared
        self._choice = choice
        self._records = records
        self._flops = flops
        self._peak_flops = peak_flops
        self._running: deque[_Running] = deque()
        self._clock = Stopwatch()
        self._waiter = ThreadPoolExecutor(1, thread_name_prefix="step-end")
        self.last_line: MetricsLine | None = None

    def add(self, batch: SentBatch, metrics: StepMetrics) -> None:
        """Take the metrics of a step that has just been started; wait for one that is too far behind."""
        for scalar in metrics:
            scalar.copy_to_host_async()
        ended_s = self._waiter.submit(_end_of, metrics)
        self._running.append(_Running(batch.index + 1, batch.num_tokens, metrics, ended_s))
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

    def _settle(self, num_left: int) -> None:
        while len(self._running) > num_left:
            self._read(self._running.popleft())

    def _read(self, running: _Running) -> None:
        diverged_at = int(running.metrics.diverged_at)
        if diverged_at != NOT_DIVERGED:
            raise Diverged(diverged_at)
        flops = self._flops(running.num_tokens, int(running.metrics.num_trained_tokens))
        self._clock.count(running.num_tokens, flops, running.ended_s.result())
        is_last = running.step == self._prepared.num_steps
        if is_last or running.step % self._prepared.recipe.output.log_every_steps == 0:
            self._write(running)

    def _write(self, running: _Running) -> None:
        speed = self._clock.speed_since_last()
        line = MetricsLine(
            step=running.step,
            epoch=self._prepared.epoch_after(running.step),
            loss=float(running.metrics.loss),
            lr=float(running.metrics.learning_rate),
            grad_norm=float(running.metrics.grad_norm),
            tokens=running.num_tokens,
            trained_tokens=int(running.metrics.num_trained_tokens),
            tokens_per_s=speed.tokens_per_s,
            mfu=self._mfu(speed.flops_per_s),
            peak_memory_bytes=self._choice.peak_memory_bytes(),
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


def _end_of(metrics: StepMetrics) -> float:
    jax.block_until_ready(metrics.loss)
    return time.monotonic()
