"""The trace: one worked solution. The API, the JSONL files and the UI all use this shape."""

import hashlib
import json
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tunix_rt.base.records import TEXT_PATTERN, _storable_text

MAX_PROMPT_CHARS = 50_000
MAX_ANSWER_CHARS = 50_000
MAX_STEP_CHARS = 20_000
MAX_STEPS = 1_000
MAX_META_DEPTH = 16
"""Text with something to see in it, and without the one character that PostgreSQL cannot hold."""

_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


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
    """One step of the shown work."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    i: Annotated[int, Field(ge=0, le=2**31 - 1)]
    """Position of the step: unique and ascending within a trace."""
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
    """Anything else that is known: `source`, `category`, `difficulty`, `tags`, …"""

    @model_validator(mode="after")
    def _steps_are_ordered(self) -> "Trace":
        positions = [step.i for step in self.steps]
        if any(later <= earlier for earlier, later in pairwise(positions)):
            raise ValueError("steps[].i must be unique and ascending; renumber the steps from 0")
        return self


def trace_from_text_steps(
    prompt: str, steps: list[str], final_answer: str, meta: dict[str, Any] | None = None
) -> Trace:
    """A trace whose steps are numbered from 0 and have the default type."""
    return Trace(
        prompt=prompt,
        steps=tuple(TraceStep(i=i, content=content) for i, content in enumerate(steps)),
        final_answer=final_answer,
        meta=meta or {},
    )


def canonical_json(trace: Trace) -> str:
    """The one text of a trace: what is hashed, stored and compared."""
    return _CANONICAL.encode(trace.model_dump())


def trace_id(canonical: str) -> UUID:
    """The id of a trace is its content: the same trace has the same id on every machine.

    The first 16 bytes of the SHA-256 of the canonical JSON, marked as a version 8 (custom) UUID.
    """
    digest = bytearray(hashlib.sha256(canonical.encode("utf-8")).digest()[:16])
    digest[6] = (digest[6] & 0x0F) | 0x80
    digest[8] = (digest[8] & 0x3F) | 0x80
    return UUID(bytes=bytes(digest))


def normalised_prompt(prompt: str) -> str:
    """The prompt as two people would call it the same question: case and white space folded."""
    return " ".join(prompt.casefold().split())


def labels_of(trace: Trace) -> Iterator[tuple[str, str]]:
    """The (name, value) pairs that a trace can be filtered by.

    Scalars of `meta` under their key, lists of scalars once per item (so `tags` works as a set).

    Example:
        meta {"source": "gsm8k", "tags": ["a", "b"]} -> ("source", "gsm8k"), ("tags", "a"), ("tags", "b")
    """
    for key, value in trace.meta.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str | int | float | bool):
                yield key, label_text(item)


def label_text(value: str | int | float | bool) -> str:
    """How a scalar is written in a filter: `true`, `3`, `0.5`, `gsm8k`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
