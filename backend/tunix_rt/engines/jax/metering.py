"""Metrics of steps that are still running: asked for at once, read a little later, written as lines.

    step        7       8       9
    device  ....[7]....[8]....[9]....
    host    ask 7   ask 8   ask 9, read 7

So the device always has a step to do, and the host never runs further ahead than the batches that are sent.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from tunix_rt.core.run_record import MetricsLine
from tunix_rt.engines.jax.devices import DeviceChoice
from tunix_rt.engines.jax.divergence import Diverged
from tunix_rt.engines.jax.prefetch import SentBatch
from tunix_rt.engines.jax.state import NOT_DIVERGED, StepMetrics
from tunix_rt.engines.preparation import Prepared
from tunix_rt.engines.records import Progress, RunRecords

NUM_IN_FLIGHT = 2


@dataclass(frozen=True)
class _Running:
    step: int
    num_tokens: int
    metrics: StepMetrics


class Meter:
    """Turns what steps return into lines of metrics, in order and never twice."""

    def __init__(
        self,
        prepared: Prepared,
        choice: DeviceChoice,
        records: RunRecords,
        *,
        flops_per_token: float,
        peak_flops: float | None,
    ) -> None:
        self._prepared = prepared
        self._choice = choice
        self._records = records
        self._flops_per_token = flops_per_token
        self._peak_flops = peak_flops
        self._running: deque[_Running] = deque()
        self._clock = _Clock()
        self.last_line: MetricsLine | None = None

    def add(self, batch: SentBatch, metrics: StepMetrics) -> None:
        """Take the metrics of a step that has just been started; wait for one that is too far behind."""
        for scalar in metrics:
            scalar.copy_to_host_async()
        self._running.append(_Running(batch.index + 1, batch.num_tokens, metrics))
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
        return self._clock.overall_rate()

    @property
    def mfu(self) -> float | None:
        """The same as a share of what the devices could do."""
        return self._mfu(self.tokens_per_s)

    def _settle(self, num_left: int) -> None:
        while len(self._running) > num_left:
            self._read(self._running.popleft())

    def _read(self, running: _Running) -> None:
        diverged_at = int(running.metrics.diverged_at)
        if diverged_at != NOT_DIVERGED:
            raise Diverged(diverged_at)
        self._clock.count(running.num_tokens)
        is_last = running.step == self._prepared.num_steps
        if is_last or running.step % self._prepared.recipe.output.log_every_steps == 0:
            self._write(running)

    def _write(self, running: _Running) -> None:
        tokens_per_s = self._clock.rate_since_last()
        line = MetricsLine(
            step=running.step,
            epoch=self._prepared.epoch_after(running.step),
            loss=float(running.metrics.loss),
            lr=float(running.metrics.learning_rate),
            grad_norm=float(running.metrics.grad_norm),
            tokens=running.num_tokens,
            trained_tokens=int(running.metrics.num_trained_tokens),
            tokens_per_s=tokens_per_s,
            mfu=self._mfu(tokens_per_s),
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
                tokens_per_s=tokens_per_s,
                seconds_left=None if seconds_per_step is None else num_left * seconds_per_step,
            )
        )

    def _mfu(self, tokens_per_s: float | None) -> float | None:
        if tokens_per_s is None or self._peak_flops is None:
            return None
        return tokens_per_s * self._flops_per_token / self._peak_flops


class _Clock:
    """Tokens over time. The first step only starts the clock."""

    def __init__(self) -> None:
        self._started_s: float | None = None
        self._last_line_s = 0.0
        self._num_tokens = 0
        self._num_tokens_since_line = 0
        self._num_steps = 0

    def count(self, num_tokens: int) -> None:
        if self._started_s is None:
            self._started_s = self._last_line_s = time.monotonic()
            return
        self._num_tokens += num_tokens
        self._num_tokens_since_line += num_tokens
        self._num_steps += 1

    def skip(self, seconds: float) -> None:
        if self._started_s is not None:
            self._started_s += seconds
            self._last_line_s += seconds

    def rate_since_last(self) -> float | None:
        now_s = time.monotonic()
        rate = _rate(self._num_tokens_since_line, now_s - self._last_line_s)
        self._last_line_s, self._num_tokens_since_line = now_s, 0
        return rate

    def overall_rate(self) -> float | None:
        return (
            None if self._started_s is None else _rate(self._num_tokens, self._last_line_s - self._started_s)
        )

    def seconds_per_step(self) -> float | None:
        if self._started_s is None or not self._num_steps:
            return None
        return (time.monotonic() - self._started_s) / self._num_steps


def _rate(amount: int, seconds: float) -> float | None:
    return amount / seconds if amount and seconds > 0 else None
