"""The HTML pages of a bundle and of a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tunix_rt.engines.training.types import MetricsLine, RunEnvironment, RunManifest
from tunix_rt.evaluation.types import Estimate, Evaluation
from tunix_rt.evidence.files import open_bundle
from tunix_rt.evidence.reader import Contents
from tunix_rt.evidence.summary import EvalSummary
from tunix_rt.evidence.types import EvidenceManifest, EvidenceVerdict

WIDTH, HEIGHT = 640, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 34, 14, 44
MAX_POINTS = 400
_LOG_FROM_RATIO = 50
"""A curve whose values span more than this ratio gets a logarithmic scale."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Curve:
    """One line of a chart."""

    name: str
    css_class: str
    points: str
    """Value of the `points` attribute of an SVG polyline."""
    is_dots: bool
    dots: tuple[Point, ...]


@dataclass(frozen=True)
class LineChart:
    """A chart over steps."""

    title: str
    curves: tuple[Curve, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    is_log: bool
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def line_chart(title: str, series: dict[str, Sequence[Point]]) -> LineChart | None:
    """A chart of named series; None without any points."""
    points = [point for values in series.values() for point in values]
    if not points:
        return None
    lows, highs = (
        [min(axis) for axis in zip(*points, strict=True)],
        [max(axis) for axis in zip(*points, strict=True)],
    )
    is_log = lows[1] > 0 and highs[1] / lows[1] > _LOG_FROM_RATIO
    x = _Axis(lows[0], highs[0], _LEFT, WIDTH - _RIGHT)
    y = _Axis(*_padded(lows[1], highs[1], is_log=is_log), HEIGHT - _BOTTOM, _TOP, is_log=is_log)
    curves = [
        _curve(name, f"curve-{index}", _downsampled(values), x, y)
        for index, (name, values) in enumerate(series.items())
        if values
    ]
    return LineChart(title, tuple(curves), x.ticks(5), y.ticks(5), is_log)


def _curve(name: str, css_class: str, values: Sequence[Point], x: "_Axis", y: "_Axis") -> Curve:
    placed = tuple((round(x.at(a), 1), round(y.at(b), 1)) for a, b in values)
    is_dots = len(placed) <= MAX_POINTS // 10
    return Curve(name, css_class, " ".join(f"{a},{b}" for a, b in placed), is_dots, placed if is_dots else ())


def _downsampled(values: Sequence[Point]) -> Sequence[Point]:
    """At most about `MAX_POINTS` evenly spaced points, always including the last."""
    every = math.ceil(len(values) / MAX_POINTS)
    thinned = list(values[::every])
    if values and thinned[-1] != values[-1]:
        thinned.append(values[-1])
    return thinned


def _padded(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    if is_log:
        return low / 1.1, high * 1.1
    room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
    return low - room, high + room


@dataclass(frozen=True)
class _Axis:
    """Maps values to positions on the page."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        low, high = self._scaled(self.low), self._scaled(self.high)
        share = 0.5 if high == low else (self._scaled(value) - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int) -> tuple[Tick, ...]:
        values = self._decades() if self.is_log else self._round_values(count)
        return tuple(Tick(round(self.at(value), 1), f"{value:,.6g}") for value in values)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.is_log else value

    def _decades(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]

    def _round_values(self, count: int) -> list[float]:
        span = self.high - self.low
        if span == 0:
            return [self.low]
        raw = span / count
        power = 10 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
        first = math.ceil(self.low / step)
        return [index * step for index in range(first, math.floor(self.high / step) + 1)]


PAGE_FILE = "evidence.html"
_TEMPLATES_DIR = Path(__file__).parent / "templates"
_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class ScoreBar:
    """Accuracy of a group of items."""

    name: str
    share: Estimate


@dataclass(frozen=True)
class PageData:
    """Data of the page; None for files that the bundle does not contain."""

    manifest: EvidenceManifest
    run: RunManifest | None
    environment: RunEnvironment | None
    summary: EvalSummary | None
    losses: LineChart | None
    speed: LineChart | None
    scores: tuple[ScoreBar, ...]


def evidence_page(directory: Path, manifest: EvidenceManifest) -> str:
    """Render the page of a bundle whose other files are in `directory`; all values are escaped."""
    with open_bundle(directory) as bundle:
        contents = Contents(bundle)
        losses, speed = _charts(contents) if contents.has("metrics.jsonl") else (None, None)
        data = PageData(
            manifest=manifest,
            run=contents.manifest() if contents.has("run_manifest.json") else None,
            environment=contents.environment() if contents.has("environment.json") else None,
            summary=contents.summary() if contents.has("eval_summary.json") else None,
            losses=losses,
            speed=speed,
            scores=_scores(contents.evaluation()) if contents.has("evaluation.json") else (),
        )
    return _template("evidence.html.jinja").render(data=data)


def verdict_page(verdict: EvidenceVerdict) -> str:
    """Render the page of a verdict."""
    return _template("evidence_verdict.html.jinja").render(verdict=verdict)


def _charts(contents: Contents) -> tuple[LineChart | None, LineChart | None]:
    training: list[Point] = []
    validation: list[Point] = []
    speed: list[Point] = []
    for line in contents.metrics():
        if not isinstance(line, MetricsLine):
            validation.append((line.step, line.validation_loss))
            continue
        training.append((line.step, line.loss))
        if line.tokens_per_s is not None:
            speed.append((line.step, line.tokens_per_s))
    losses = line_chart("Loss, nats per trained token", {"training": training, "validation": validation})
    return losses, line_chart("Speed, tokens per second", {"tokens/s": speed})


def _scores(evaluation: Evaluation) -> tuple[ScoreBar, ...]:
    scores = evaluation.scores
    groups = {"all questions": scores.overall, **scores.by_section, **scores.by_difficulty}
    found = ((name, group.accuracy) for name, group in groups.items())
    return tuple(ScoreBar(name, share) for name, share in found if share is not None)


@lru_cache(maxsize=2)
def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES_DIR),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["size"] = _size
    return environment.get_template(name)


def _size(num_bytes: float) -> str:
    """A size in a readable unit: 2020936 -> "1.9 MiB"."""
    if num_bytes < _KIB:
        return f"{num_bytes:.0f} bytes"
    power = min(int(math.log(num_bytes, _KIB)), len(_UNITS))
    return f"{num_bytes / _KIB**power:.1f} {_UNITS[power - 1]}"
