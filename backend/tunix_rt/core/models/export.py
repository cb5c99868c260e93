"""What an export says of itself: the file that lies beside it."""

from datetime import datetime
from typing import Literal

from tunix_rt.base.records import Count, Record
from tunix_rt.core.models.tree import ModelFile, Sha256
from tunix_rt.core.models.version import ModelKind

ExportForm = Literal["merged", "adapter", "zip"]

PARITY_PROMPTS: tuple[str, ...] = (
    "What is 17 + 25?",
    "A pen costs 3 euros. What do 4 pens cost?",
    "Which is larger, 7/9 or 3/4? Show your work.",
    "How long is it from 9:40 to 13:05?",
    "Simplify 2(x + 3) - 5.",
    "Name three prime numbers greater than 50.",
)
"""Asked of the registered and of the exported model; they are part of what a report means. All are short, so
that an engine compiles for one shape."""
NUM_PARITY_TOKENS = 32


class PromptParity(Record):
    """What both models wrote for one prompt, token by token."""

    prompt: str
    registered: tuple[int, ...]
    exported: tuple[int, ...]

    @property
    def first_difference(self) -> int | None:
        """The position of the first token that differs; None: there is none."""
        if self.registered == self.exported:
            return None
        pairs = zip(self.registered, self.exported, strict=False)
        shorter = min(len(self.registered), len(self.exported))
        return next((index for index, (one, other) in enumerate(pairs) if one != other), shorter)


class TokenParity(Record):
    """Greedy tokens of the registered and of the exported model."""

    engine: str
    device: str
    precision: str
    max_new_tokens: Count
    prompts: tuple[PromptParity, ...]

    @property
    def differing(self) -> tuple[PromptParity, ...]:
        """The prompts that the two do not answer alike."""
        return tuple(prompt for prompt in self.prompts if prompt.first_difference is not None)


class ExportReport(Record):
    """Which version was exported, into which files, and that they are the same model."""

    report_version: Literal["1"] = "1"
    version: str
    """`name:version`."""
    content_hash: Sha256
    kind: ModelKind
    form: ExportForm
    created_at: datetime
    tunix_rt_version: str
    files: tuple[ModelFile, ...]
    """Of the export, this report and the card left out."""
    is_same_bytes: bool
    """Whether the files are those that were registered, bit for bit."""
    tokens: TokenParity | None = None
    """Left out of a zip: its bytes are compared instead."""
    passed: bool
