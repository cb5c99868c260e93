"""What an X-ray of a dataset says: every token trained, masked or padding, and what is wrong with that.

The JSON of `tunix-rt data xray --json`, the HTTP answer and the HTML page all show this type.
"""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tunix_rt.tokenization.encoding import FindingCode, TokenPart
from tunix_rt.traces.types import MarkupStyle

TokenState = Literal["trained", "masked", "padding"]
LossOn = Literal["completion", "all", "prompt"]
Severity = Literal["error", "warning", "info"]

# Terminals obey control characters, and bidirectional overrides show text in another order than it has.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


class _XrayModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class XrayToken(_XrayModel):
    """One token of a row."""

    id: int
    text: str
    """The characters that begin in this token; empty when it only continues the bytes of the one before."""
    state: TokenState
    part: TokenPart


class XraySegment(_XrayModel):
    """Tokens `start` to `end` (exclusive) of a row are one example."""

    example: int
    """Position of the example in the dataset, from 0."""
    start: int
    end: int
    findings: tuple[FindingCode, ...]


class XrayRow(_XrayModel):
    """One row as the model sees it: one example, or several when packed, then padding."""

    tokens: tuple[XrayToken, ...]
    segments: tuple[XraySegment, ...]


class PartCount(_XrayModel):
    """How many tokens of one part are trained and masked, over all examples."""

    part: TokenPart
    num_trained: int
    num_masked: int


class XrayFinding(_XrayModel):
    """Something about the dataset under this tokenizer and template that a person should know."""

    code: FindingCode
    severity: Severity
    count: int
    """Examples concerned."""
    share: float
    """`count` as a share of all examples."""
    message: str
    next_step: str
    examples: tuple[int, ...]
    """Positions of the first few examples concerned."""


class XrayReport(_XrayModel):
    """What training would see. `passed` is false when a finding is an error."""

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
    """Whether the dataset has more examples than were looked at."""
    num_rows: int
    num_tokens: int
    """Tokens of all examples; padding is not among them."""
    num_trained: int
    num_padding: int
    fill_ratio: float
    """Share of the rows that holds tokens, not padding."""
    longest_example: int
    parts: tuple[PartCount, ...]
    findings: tuple[XrayFinding, ...]
    rows: tuple[XrayRow, ...]
    """The rows that were asked for; the counts above cover all examples."""


def visible_text(text: str) -> str:
    r"""Text that is safe to show: control and direction-changing characters are written as escapes.

    Example:
        "a", the ESC character, "b" -> "a\x1bb" with a real backslash
    """
    return _INVISIBLE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)
