"""`evidence.html`: a bundle on one page, and the page of a verdict. Both make no request."""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tunix_rt.core.evidence.manifest import EvidenceManifest
from tunix_rt.core.evidence.summary import EvalSummary
from tunix_rt.core.evidence.verdict import EvidenceVerdict
from tunix_rt.engines.training.types import MetricsLine, RunEnvironment, RunManifest
from tunix_rt.evaluation.types import Estimate, Evaluation
from tunix_rt.files.evidence.bundle import open_bundle
from tunix_rt.services.evidence.charts import LineChart, Point, line_chart
from tunix_rt.services.evidence.reading import Contents

PAGE_FILE = "evidence.html"
_TEMPLATES_DIR = Path(__file__).parents[1] / "templates"
_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class ScoreBar:
    """Accuracy of a group of questions."""

    name: str
    share: Estimate


@dataclass(frozen=True)
class PageData:
    """What the page shows; what the bundle does not hold is None."""

    manifest: EvidenceManifest
    run: RunManifest | None
    environment: RunEnvironment | None
    summary: EvalSummary | None
    losses: LineChart | None
    speed: LineChart | None
    scores: tuple[ScoreBar, ...]


def evidence_page(directory: Path, manifest: EvidenceManifest) -> str:
    """The page of a bundle whose other files are in `directory`; everything on it is escaped."""
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
    """The page of a verdict."""
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
    """A size that people read: 2020936 -> "1.9 MiB"."""
    if num_bytes < _KIB:
        return f"{num_bytes:.0f} bytes"
    power = min(int(math.log(num_bytes, _KIB)), len(_UNITS))
    return f"{num_bytes / _KIB**power:.1f} {_UNITS[power - 1]}"
