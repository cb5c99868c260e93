"""Traces with their ids and canonical JSON, filters, pages, search tokens and completion markups.

Text is tokenized for search here and not by the databases, whose parsers treat numbers and punctuation
differently. A search therefore returns the same results on SQLite and PostgreSQL.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, get_args
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.records import TEXT_PATTERN, StorableText, _storable_text

MAX_PROMPT_CHARS = 50_000
MAX_ANSWER_CHARS = 50_000
MAX_STEP_CHARS = 20_000
MAX_STEPS = 1_000
MAX_META_DEPTH = 16

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class Frozen(BaseModel):
    """A pydantic model whose fields cannot be assigned."""

    model_config = ConfigDict(frozen=True)


def _storable_json(value: object, depth: int = 0) -> None:
    if depth > MAX_META_DEPTH:
        raise ValueError(f"meta is nested deeper than {MAX_META_DEPTH} levels")
    if isinstance(value, str):
        _storable_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("meta holds NaN or an infinity, which JSON cannot hold")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("meta holds an integer of more than 64 bits; store it as text")
    elif isinstance(value, dict):
        for key, item in value.items():
            _storable_text(key)
            _storable_json(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _storable_json(item, depth + 1)


def _storable_meta(meta: dict[str, Any]) -> dict[str, Any]:
    _storable_json(meta)
    return meta


Meta = Annotated[dict[str, Any], AfterValidator(_storable_meta)]


class TraceStep(BaseModel):
    """One reasoning step."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    i: Annotated[int, Field(ge=0, le=2**31 - 1)]
    """Position of the step, unique and ascending within a trace."""
    type: Annotated[str, Field(min_length=1, max_length=64, pattern=TEXT_PATTERN)] = "reasoning"
    content: Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARS, pattern=TEXT_PATTERN)]


class Trace(BaseModel):
    """One worked solution: a prompt, the steps that solve it, and the final answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    trace_version: Literal["1.0"] = "1.0"
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS, pattern=TEXT_PATTERN)]
    steps: Annotated[tuple[TraceStep, ...], Field(min_length=1, max_length=MAX_STEPS, fail_fast=True)]
    final_answer: Annotated[str, Field(min_length=1, max_length=MAX_ANSWER_CHARS, pattern=TEXT_PATTERN)]
    meta: Meta = Field(default_factory=dict)
    """Free metadata: `source`, `category`, `difficulty`, `tags`, …"""

    @model_validator(mode="after")
    def _steps_are_ordered(self) -> "Trace":
        positions = [step.i for step in self.steps]
        if any(later <= earlier for earlier, later in pairwise(positions)):
            raise ValueError("steps[].i must be unique and ascending; renumber the steps from 0")
        return self


def trace_from_text_steps(
    prompt: str, steps: list[str], final_answer: str, meta: dict[str, Any] | None = None
) -> Trace:
    """A trace with steps of the default type, numbered from 0."""
    return Trace(
        prompt=prompt,
        steps=tuple(TraceStep(i=i, content=content) for i, content in enumerate(steps)),
        final_answer=final_answer,
        meta=meta or {},
    )


def canonical_json(trace: Trace) -> str:
    """The canonical JSON of a trace, which is hashed, stored and compared."""
    return _CANONICAL.encode(trace.model_dump())


def trace_id(canonical: str) -> UUID:
    """The id of a trace is a hash of its content: the same trace has the same id on every machine.

    The first 16 bytes of the SHA-256 of the canonical JSON, marked as a version 8 (custom) UUID.
    """
    digest = bytearray(hashlib.sha256(canonical.encode("utf-8")).digest()[:16])
    digest[6] = (digest[6] & 0x0F) | 0x80
    digest[8] = (digest[8] & 0x3F) | 0x80
    return UUID(bytes=bytes(digest))


def normalised_prompt(prompt: str) -> str:
    """The prompt with case and white space normalized, for comparing questions."""
    return " ".join(prompt.casefold().split())


def labels_of(trace: Trace) -> Iterator[tuple[str, str]]:
    """The (name, value) pairs that a trace can be filtered by.

    One pair per scalar in `meta` and one per item of a list of scalars, so `tags` works as a set.

    Example:
        meta {"source": "gsm8k", "tags": ["a", "b"]} -> ("source", "gsm8k"), ("tags", "a"), ("tags", "b")
    """
    for key, value in trace.meta.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str | int | float | bool):
                yield key, label_text(item)


def label_text(value: str | int | float | bool) -> str:
    """The notation of a scalar in a filter: `true`, `3`, `0.5`, `gsm8k`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


CorruptionKind = Literal[
    "plus-1", "minus-1", "plus-10", "minus-10", "times-10", "digit-swap", "wrong-operator"
]

_WORD = re.compile(r"[^\W_]+")
_WORD_OR_PREFIX = re.compile(r"([^\W_]+)(\*?)")
_ASCII_SEPARATORS = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
# A private-use character, which SQLite treats as a letter. No word contains it, so labels and words differ.
_LABEL_MARK = "\ue000"
MAX_WORD_CHARS = 64
MAX_WORDS = 20_000
"""Distinct words beyond this many in one trace are not searchable, because a tsvector has a limit."""


def tokens_of(trace: Trace) -> list[str]:
    """The distinct words of prompt, steps and answer, and the labels."""
    parts = [trace.prompt, *[step.content for step in trace.steps], trace.final_answer]
    folded = "\n".join(parts).casefold()
    if folded.isascii():
        # The same words, three times faster for the most common kind of text.
        words = folded.encode().translate(_ASCII_SEPARATORS).decode().split()
    else:
        words = _WORD.findall(folded)
    tokens = [word[:MAX_WORD_CHARS] for word in dict.fromkeys(words)]
    return tokens[:MAX_WORDS] + [label_token(name, value) for name, value in labels_of(trace)]


def query_tokens(query: str) -> list[str]:
    """The words that must all occur; a `*` after a word makes it a prefix."""
    return [word[:MAX_WORD_CHARS] + star for word, star in _WORD_OR_PREFIX.findall(query.casefold())]


@lru_cache(maxsize=10_000)
def label_token(name: str, value: str) -> str:
    """A label as one token: names and values of any length and alphabet become 16 characters."""
    digest = hashlib.blake2b(f"{name}\0{value}".encode(), digest_size=8).hexdigest()
    return _LABEL_MARK + digest


PROMPT_START_CHARS = 200
SOURCE_CHARS = 256


class PreparedTrace(NamedTuple):
    """The values that a store writes for a trace. They are plain, so that they pickle cheaply."""

    id_hex: str
    trace_version: str
    prompt_start: str
    num_steps: int
    source: str | None
    canonical: str
    tokens: str
    """Search tokens, separated by blanks."""


def prepared(trace: Trace, canonical: str | None = None) -> PreparedTrace:
    """Prepare a trace for storing; pass its canonical JSON if it is known."""
    text = canonical_json(trace) if canonical is None else canonical
    source = trace.meta.get("source")
    return PreparedTrace(
        id_hex=trace_id(text).hex,
        trace_version=trace.trace_version,
        prompt_start=trace.prompt[:PROMPT_START_CHARS],
        num_steps=len(trace.steps),
        source=source[:SOURCE_CHARS] if isinstance(source, str) else None,
        canonical=text,
        tokens=" ".join(tokens_of(trace)),
    )


MarkupStyle = Literal["reasoning", "counted", "think", "boxed", "hash"]
MARKUP_STYLES: tuple[MarkupStyle, ...] = get_args(MarkupStyle)
DEFAULT_MARKUP: MarkupStyle = "reasoning"


@dataclass(frozen=True)
class Markup:
    """The text around the reasoning and the answer."""

    before_reasoning: str
    between: str
    after_answer: str
    reserved: tuple[str, ...]
    """Texts that content must not contain, because the completion could not be parsed."""
    pattern: re.Pattern[str]
    counts_steps: bool = False
    """Whether each step starts with its number and the total: `(1/2) `, `(2/2) `."""


_REASONING = Markup(
    before_reasoning="<reasoning>\n",
    # The newline keeps tokenizers from merging `><` across the two tags.
    between="\n</reasoning>\n<answer>",
    after_answer="</answer>",
    reserved=("<reasoning>", "</reasoning>", "<answer>", "</answer>"),
    pattern=re.compile(r"\s*<reasoning>(.*?)</reasoning>\s*<answer>(.*?)</answer>\s*", re.DOTALL),
)

MARKUPS: Mapping[MarkupStyle, Markup] = {
    "reasoning": _REASONING,
    "counted": replace(_REASONING, counts_steps=True),
    "think": Markup(
        before_reasoning="<think>\n",
        between="\n</think>\n\n",
        after_answer="",
        reserved=("<think>", "</think>"),
        pattern=re.compile(r"\s*<think>(.*?)</think>(.*)", re.DOTALL),
    ),
    "boxed": Markup(
        before_reasoning="",
        between="\n\\boxed{",
        after_answer="}",
        reserved=("\\boxed{",),
        pattern=re.compile(r"(.*)\\boxed\{(.*)\}\s*", re.DOTALL),
    ),
    "hash": Markup(
        before_reasoning="",
        between="\n#### ",
        after_answer="",
        reserved=("####",),
        pattern=re.compile(r"(.*?)####(.*)", re.DOTALL),
    ),
}

Score = Annotated[float, Field(ge=0, le=100, strict=True)]
TraceOrder = Literal["newest", "oldest", "best", "worst"]
"""The order of a list: by time of storing, or by score with unscored traces last."""
LintCode = Annotated[str, Field(pattern=r"^[a-z][a-z-]{0,63}$")]


class TraceFilter(BaseModel):
    """Selects stored traces. All given conditions must hold; an empty filter selects all traces."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    labels: dict[StorableText, StorableText] = Field(default_factory=dict)
    """`meta` equality, scalars as text: `{"category": "algebra"}`; a list in `meta` matches by any item."""
    source: StorableText | None = None
    """Shorthand for `labels["source"]`."""
    tags: tuple[StorableText, ...] = ()
    """All of these must be in `meta.tags`."""
    min_score: Score | None = None
    max_score: Score | None = None
    with_codes: tuple[LintCode, ...] = ()
    """Traces with every one of these linter findings."""
    without_codes: tuple[LintCode, ...] = ()
    """Traces with none of these linter findings. Traces that were never linted are excluded."""
    query: Annotated[StorableText, Field(max_length=1000)] | None = None
    """Full-text search in prompt, steps and answer: all words must occur."""

    @property
    def needs_lint(self) -> bool:
        """Whether the filter depends on linter results."""
        scores = (self.min_score, self.max_score)
        return any(score is not None for score in scores) or bool(self.with_codes or self.without_codes)

    def required_labels(self) -> list[tuple[str, str]]:
        """Every (name, value) pair that must be on the trace."""
        pairs = [*self.labels.items(), *(("tags", tag) for tag in self.tags)]
        return [*pairs, ("source", self.source)] if self.source is not None else pairs


class StoredTrace(Frozen):
    """A stored trace with its canonical JSON."""

    id: UUID
    created_at: datetime
    canonical: str
    score: float | None = None
    """Linter score, 0 to 100. None: never linted."""

    def trace(self) -> Trace:
        """The trace itself."""
        return Trace.model_validate_json(self.canonical)


class TraceSummary(Frozen):
    """One row of a list of traces."""

    id: UUID
    created_at: datetime
    trace_version: str
    prompt_start: str
    """The first characters of the prompt."""
    num_steps: int
    source: str | None
    score: float | None


class TracePage(Frozen):
    """A page of traces."""

    data: tuple[TraceSummary, ...]
    total: int
    total_is_exact: bool
    """False when there are more than `total`: counting stops at a bound."""
    num_unscored: int
    """Traces excluded because they were never linted; 0 unless the filter needs linter results."""


class AddResult(Frozen):
    """The result of adding a batch. Identical traces are stored once."""

    num_added: int
    num_present: int
