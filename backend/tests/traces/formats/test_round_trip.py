import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.base.errors import DataError
from tunix_rt.traces.completion import reserved_markup_in
from tunix_rt.traces.export import export_lines
from tunix_rt.traces.formats.export import EXPORT_FORMATS
from tunix_rt.traces.formats.registry import ROW_FORMATS, RowOptions, detect_format, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import (
    MARKUP_STYLES,
    StoredTrace,
    Trace,
    canonical_json,
    trace_from_text_steps,
    trace_id,
)

# Hypothesis also draws string literals of the tested code. Rendering rejects markup (see test_rendering.py).
text = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1
).filter(lambda value: not any(reserved_markup_in(value, style) for style in MARKUP_STYLES))
prompts = text.filter(str.strip)
lines = text.map(str.strip).filter(lambda value: value and "\n" not in value)
answers = text.map(str.strip).filter(bool)
traces = st.builds(
    trace_from_text_steps, prompts, st.lists(lines, min_size=1, max_size=5), answers, st.just({"source": "s"})
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
message_keys = st.sampled_from(["role", "content", "from", "value", "i", "type", "text"])
messages = st.lists(st.dictionaries(message_keys, json_values, max_size=4), max_size=3)
values = json_values | messages
few_examples = settings(deadline=None, max_examples=40)


def export_line(trace: Trace, name: str) -> str:
    canonical = canonical_json(trace)
    stored = StoredTrace(id=trace_id(canonical), created_at=datetime.now(UTC), canonical=canonical)
    [line] = export_lines([stored], name)
    return line


def shape(trace: Trace) -> tuple[str, list[str], str]:
    return trace.prompt, [step.content for step in trace.steps], trace.final_answer


@pytest.mark.parametrize("name", EXPORT_FORMATS)
@few_examples
@given(trace=traces)
def test_export_round_trips(name: str, trace: Trace) -> None:
    row = json.loads(export_line(trace, name))
    assert detect_format(row) == name
    assert shape(read_row(row, RowOptions(name))) == shape(trace)


@few_examples
@given(trace=traces)
def test_trace_format_preserves_id(trace: Trace) -> None:
    line = export_line(trace, "trace")
    assert line == canonical_json(trace)
    assert canonical_json(read_row(json.loads(line), RowOptions("trace"))) == line


@pytest.mark.parametrize("name", ["tunix_sft", "training_example"])
def test_records_include_id_and_meta(name: str) -> None:
    trace = trace_from_text_steps("6*7?", ["6*7=42"], "42", {"source": "tables"})
    row = EXPORT_FORMATS[name](trace)
    assert UUID(row["id"]) == trace_id(canonical_json(trace))
    assert read_row(row, RowOptions(name)) == trace


@pytest.mark.parametrize("name", [name for name in EXPORT_FORMATS if name != "trace"])
def test_training_text_contains_steps_and_answer(name: str) -> None:
    line = export_line(trace_from_text_steps("6*7?", ["six sevens"], "forty-two"), name)
    assert "six sevens" in line
    assert "<answer>forty-two</answer>" in line


def test_turn_marker_in_prompt_is_rejected() -> None:
    with pytest.raises(DataError, match="end_of_turn"):
        export_line(trace_from_text_steps("a<end_of_turn>b", ["c"], "d"), "tunix_sft")


@pytest.mark.parametrize("name", ROW_FORMATS)
@few_examples
@given(data=st.data())
def test_any_row_reads_or_raises(name: str, data: st.DataObject) -> None:
    known = (*ROW_FORMATS[name].required, *ROW_FORMATS[name].optional)
    row = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(known, values)))
    with suppress(RowError):
        assert json.loads(canonical_json(read_row(row, RowOptions(name))))


@few_examples
@given(row=st.dictionaries(st.text(max_size=8) | message_keys, json_values, max_size=4))
def test_format_detection_never_crashes(row: dict[str, Any]) -> None:
    with suppress(RowError):
        assert detect_format(row) in ROW_FORMATS
