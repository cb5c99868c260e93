"""An X-ray as one HTML page that needs nothing but a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tunix_rt.core.xray import XrayReport, XrayRow, XraySegment, XrayToken, visible_text

TEMPLATES_DIR = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class _BarPiece:
    """A piece of the bar that shows where the tokens go."""

    label: str
    css_class: str
    num_tokens: int
    share: float


@dataclass(frozen=True)
class _SegmentView:
    segment: XraySegment
    tokens: Sequence[XrayToken]


@dataclass(frozen=True)
class _RowView:
    segments: Sequence[_SegmentView]
    num_padding: int


def xray_html(report: XrayReport, *, title: str = "X-ray") -> str:
    """The page. It makes no request, and everything that came from traces is escaped."""
    rows = [_row_view(row) for row in report.rows]
    return _template().render(report=report, title=title, rows=rows, bar=_bar(report))


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES_DIR),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = lambda text: visible_text(text).replace("\n", "↵\n") or "·"
    environment.filters["words"] = lambda name: name.replace("_", " ")
    return environment.get_template("xray.html.jinja")


def _row_view(row: XrayRow) -> _RowView:
    segments = [_SegmentView(segment, row.tokens[segment.start : segment.end]) for segment in row.segments]
    return _RowView(segments, sum(token.state == "padding" for token in row.tokens))


def _bar(report: XrayReport) -> list[_BarPiece]:
    num_masked = report.num_tokens - report.num_trained
    counts = [("masked", "masked", num_masked)]
    counts += [
        (f"trained {count.part}", f"trained {count.part}", count.num_trained) for count in report.parts
    ]
    counts.append(("padding", "padding", report.num_padding))
    total = report.num_tokens + report.num_padding
    return [_BarPiece(label, css, number, number / total) for label, css, number in counts if number]
