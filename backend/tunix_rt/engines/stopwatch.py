"""Work over time: tokens and operations a second, from the moments at which steps ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Speed:
    """Work, and how long it took."""

    num_tokens: int
    flops: float
    seconds: float

    @property
    def tokens_per_s(self) -> float | None:
        """None when nothing was measured."""
        return self.num_tokens / self.seconds if self.num_tokens and self.seconds > 0 else None

    @property
    def flops_per_s(self) -> float | None:
        """None when nothing was measured."""
        return self.flops / self.seconds if self.num_tokens and self.seconds > 0 else None


class Stopwatch:
    """Work over time. The first step only starts the clock: it holds the warm-up."""

    def __init__(self) -> None:
        self._started_s: float | None = None
        self._last_line_s = self._last_end_s = 0.0
        self._at_last_line = (0, 0.0)
        self._num_tokens, self._flops, self._num_steps = 0, 0.0, 0

    def count(self, num_tokens: int, flops: float, ended_s: float) -> None:
        """Take a step that ended at this moment of the monotonic clock."""
        self._last_end_s = ended_s
        if self._started_s is None:
            self._started_s = self._last_line_s = ended_s
            return
        self._num_tokens += num_tokens
        self._flops += flops
        self._num_steps += 1

    def skip(self, seconds: float) -> None:
        """Forget time in which no step was running."""
        if self._started_s is not None:
            self._started_s += seconds
            self._last_line_s += seconds
            self._last_end_s += seconds

    def speed_since_last(self) -> Speed:
        """Of the steps since this was last asked."""
        num_tokens, flops = self._at_last_line
        speed = Speed(
            self._num_tokens - num_tokens, self._flops - flops, self._last_end_s - self._last_line_s
        )
        self._last_line_s, self._at_last_line = self._last_end_s, (self._num_tokens, self._flops)
        return speed

    @property
    def overall(self) -> Speed:
        """Of all steps but the first."""
        return Speed(self._num_tokens, self._flops, self._last_end_s - (self._started_s or 0.0))

    def seconds_per_step(self) -> float | None:
        """The mean of all steps but the first; None before there is one."""
        if self._started_s is None or not self._num_steps:
            return None
        return (self._last_end_s - self._started_s) / self._num_steps
