"""The HTML pages of a bundle and of a verdict."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tunix_rt.engines.training.types import MetricsLine
from tunix_rt.evaluation.types import Estimate
from tunix_rt.evidence.documents import CRATE_FILE
from tunix_rt.evidence.reader import Contents
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


def line_chart(title: str, series: Mapping[str, Sequence[Point]]) -> LineChart | None:
    """A chart of named series; None without any points."""
    points = [point for values in series.values() for point in values]
    if not points:
        return None
    steps, values = zip(*points, strict=True)
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > _LOG_FROM_RATIO
    if is_log:
        low, high = low / 1.1, high * 1.1
    else:
        room = (high - low) * 0.05 or abs(high) * 0.05 or 1.0
        low, high = low - room, high + room
    x = _Axis(min(steps), max(steps), _LEFT, WIDTH - _RIGHT)
    y = _Axis(low, high, HEIGHT - _BOTTOM, _TOP, is_log=is_log)
    curves = []
    for index, (name, named) in enumerate(series.items()):
        if named:
            placed = tuple((round(x.at(a), 1), round(y.at(b), 1)) for a, b in _downsampled(named))
            polyline = " ".join(f"{a},{b}" for a, b in placed)
            dots = placed if len(placed) <= MAX_POINTS // 10 else ()
            curves.append(Curve(name, f"curve-{index}", polyline, dots))
    return LineChart(title, tuple(curves), x.ticks(5), y.ticks(5), is_log)


def _downsampled(values: Sequence[Point]) -> Sequence[Point]:
    """At most about `MAX_POINTS` evenly spaced points, always including the last."""
    every = math.ceil(len(values) / MAX_POINTS)
    thinned = list(values[::every])
    if thinned[-1] != values[-1]:
        thinned.append(values[-1])
    return thinned


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
        if self.is_log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            values = [10.0**power for power in powers]
        elif self.high == self.low:
            values = [self.low]
        else:
            raw = (self.high - self.low) / count
            power = 10 ** math.floor(math.log10(raw))
            step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
            first, last = math.ceil(self.low / step), math.floor(self.high / step)
            values = [index * step for index in range(first, last + 1)]
        return tuple(Tick(round(self.at(value), 1), f"{value:,.6g}") for value in values)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.is_log else value


PAGE_FILE = "evidence.html"
_RENDERED = (PAGE_FILE, CRATE_FILE)
_TEMPLATES_DIR = Path(__file__).parent / "templates"
_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


def evidence_page(contents: Contents, manifest: EvidenceManifest) -> str:
    """Render the page of a bundle; all values are escaped.

    The page does not list itself and the crate, which covers the page: both are written after it.
    """
    manifest = manifest.model_copy(
        update={"files": tuple(file for file in manifest.files if file.path not in _RENDERED)}
    )
    series: dict[str, list[Point]] = {"training": [], "validation": [], "tokens/s": []}
    for line in contents.metrics() if contents.has("metrics.jsonl") else ():
        if not isinstance(line, MetricsLine):
            series["validation"].append((line.step, line.validation_loss))
            continue
        series["training"].append((line.step, line.loss))
        if line.tokens_per_s is not None:
            series["tokens/s"].append((line.step, line.tokens_per_s))
    speed = line_chart("Speed, tokens per second", {"tokens/s": series.pop("tokens/s")})
    scores: dict[str, Estimate] = {}
    if contents.has("evaluation.json"):
        found = contents.evaluation().scores
        groups = {"all questions": found.overall, **found.by_section, **found.by_difficulty}
        scores = {name: group.accuracy for name, group in groups.items() if group.accuracy is not None}
    # None for files that the bundle does not contain.
    data = {
        "manifest": manifest,
        "run": contents.manifest() if contents.has("run_manifest.json") else None,
        "environment": contents.environment() if contents.has("environment.json") else None,
        "summary": contents.summary() if contents.has("eval_summary.json") else None,
        "losses": line_chart("Loss, nats per trained token", series),
        "speed": speed,
        "scores": scores,
    }
    return _template("evidence.html.jinja").render(data=data)


def verdict_page(verdict: EvidenceVerdict) -> str:
    """Render the page of a verdict."""
    return _template("evidence_verdict.html.jinja").render(verdict=verdict)


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
