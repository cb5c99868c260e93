"""The X-ray report (tokens, segments, findings) and its HTML page.

`tunix-rt data xray --json`, the HTTP response and the HTML page all use this type.
"""

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tunix_rt.base.records import Frozen
from tunix_rt.tokenization.encoding import FindingCode, TokenPart
from tunix_rt.traces.types import MarkupStyle

TokenState = Literal["trained", "masked", "padding"]
LossOn = Literal["completion", "all", "prompt"]
Severity = Literal["error", "warning", "info"]

# Terminals interpret control characters, and bidirectional overrides reorder text.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


class XrayToken(Frozen):
    """One token of a row."""

    id: int
    text: str
    """The characters that start in this token; empty if it only continues the bytes of the previous token."""
    state: TokenState
    part: TokenPart


class XraySegment(Frozen):
    """Tokens `start` to `end` (exclusive) of a row are one example."""

    example: int
    """Position of the example in the dataset, from 0."""
    start: int
    end: int
    findings: tuple[FindingCode, ...]


class XrayRow(Frozen):
    """One row as the model sees it: one example, or several when packed, then padding."""

    tokens: tuple[XrayToken, ...]
    segments: tuple[XraySegment, ...]


class PartCount(Frozen):
    """How many tokens of one part are trained and masked, over all examples."""

    part: TokenPart
    num_trained: int
    num_masked: int


class XrayFinding(Frozen):
    """A finding about the dataset with this tokenizer and template."""

    code: FindingCode
    severity: Severity
    count: int
    """Number of affected examples."""
    share: float
    """`count` as a share of all examples."""
    message: str
    next_step: str
    examples: tuple[int, ...]
    """Positions of the first affected examples."""


class XrayReport(Frozen):
    """The dataset as training sees it. `passed` is false when a finding is an error."""

    passed: bool
    tokenizer: str
    tokenizer_fingerprint: str
    template: str
    template_sha256: str
    markup: MarkupStyle
    loss_on: LossOn
    packed: bool
    row_length: int | None
    num_examples: int
    is_partial: bool
    """Whether the dataset has more examples than were inspected."""
    num_rows: int
    num_tokens: int
    """Tokens of all examples, without padding."""
    num_trained: int
    num_padding: int
    fill_ratio: float
    """Share of the positions that are tokens, not padding."""
    longest_example: int
    parts: tuple[PartCount, ...]
    findings: tuple[XrayFinding, ...]
    rows: tuple[XrayRow, ...]
    """The requested rows; the counts above cover all examples."""


def visible_text(text: str) -> str:
    r"""Text that is safe to show: control and bidirectional characters are escaped.

    Example:
        "a", the ESC character, "b" -> "a\x1bb" with a real backslash
    """
    return _INVISIBLE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


TEMPLATES_DIR = Path(__file__).parent / "templates"
_TEMPLATE = "xray.html.jinja"


def xray_html(report: XrayReport, *, title: str = "X-ray") -> str:
    """The page. It makes no requests, and all text from traces is escaped."""
    counts = [("masked", report.num_tokens - report.num_trained)]
    counts += [(f"trained {count.part}", count.num_trained) for count in report.parts]
    counts.append(("padding", report.num_padding))
    total = report.num_tokens + report.num_padding
    bar = [(label, number, number / total) for label, number in counts if number]
    return _template().render(report=report, title=title, bar=bar, policy=page_policy())


@lru_cache(maxsize=1)
def page_policy() -> str:
    """The Content-Security-Policy of the page: its own script runs, and nothing is loaded."""
    source = (TEMPLATES_DIR / _TEMPLATE).read_text(encoding="utf-8")
    script = source.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


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
    return environment.get_template(_TEMPLATE)
