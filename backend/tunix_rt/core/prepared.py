"""A trace on its way into a store: everything is worked out, only the writing is left."""

from typing import NamedTuple

from tunix_rt.core.search_tokens import tokens_of
from tunix_rt.core.trace import Trace, canonical_json, trace_id

PROMPT_START_CHARS = 200
SOURCE_CHARS = 256


class PreparedTrace(NamedTuple):
    """What a store writes of a trace. Plain values, which travel cheaply between processes."""

    id_hex: str
    trace_version: str
    prompt_start: str
    num_steps: int
    source: str | None
    canonical: str
    tokens: str
    """What it is found by, separated by blanks."""


def prepared(trace: Trace, canonical: str | None = None) -> PreparedTrace:
    """The trace as a store writes it; pass its canonical JSON where it is known."""
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
