"""Builders of complete, valid traces. A test passes only the values that it is about."""

from typing import Any

from tunix_rt.traces.types import Trace, canonical_json, trace_from_text_steps


def make_trace(
    prompt: str = "What is 2 + 3?",
    steps: list[str] | None = None,
    final_answer: str = "5",
    **meta: Any,
) -> Trace:
    """Return a correct trace: 2 + 3 = 5."""
    return trace_from_text_steps(prompt, steps or ["2 + 3 = 5"], final_answer, meta)


def make_item(prompt: str = "What is 2 + 3?", **meta: Any) -> tuple[Trace, str]:
    """Return a trace with its canonical JSON, as `TraceRepository` takes them."""
    trace = make_trace(prompt, **meta)
    return trace, canonical_json(trace)
