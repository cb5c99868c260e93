import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.builders import make_trace

from tunix_rt.base.records import explain_validation_error
from tunix_rt.traces.types import (
    MAX_META_DEPTH,
    Trace,
    canonical_json,
    labels_of,
    normalised_prompt,
    trace_id,
)

VALID = {"prompt": "2 + 2?", "steps": [{"i": 0, "type": "calc", "content": "2 + 2 = 4"}], "final_answer": "4"}


def validation_error(**changes: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Trace.model_validate(VALID | changes)
    return explain_validation_error(caught.value)


def test_trace_round_trips_through_json() -> None:
    trace = make_trace(source="here", tags=["a", "b"])
    assert Trace.model_validate_json(canonical_json(trace)) == trace


def test_id_ignores_key_order() -> None:
    reordered = json.loads(json.dumps(dict(reversed(VALID.items()))))
    first, second = Trace.model_validate(VALID), Trace.model_validate(reordered)
    assert trace_id(canonical_json(first)) == trace_id(canonical_json(second))


def test_id_depends_on_answer() -> None:
    ids = {trace_id(canonical_json(make_trace(final_answer=answer))) for answer in ("5", "6")}
    assert len(ids) == 2


def test_unknown_field_is_named() -> None:
    assert "promt" in validation_error(promt="typo")


@pytest.mark.parametrize("positions", [[1, 0], [0, 0], [2, 1]])
def test_step_numbers_must_ascend(positions: list[int]) -> None:
    steps = [{"i": i, "content": "x"} for i in positions]
    assert "ascending" in validation_error(steps=steps)


@pytest.mark.parametrize("num_steps", [0, 1_001])
def test_number_of_steps_is_limited(num_steps: int) -> None:
    assert "steps" in validation_error(steps=[{"i": i, "content": "x"} for i in range(num_steps)])


@pytest.mark.parametrize(("steps", "reason"), [("text", "steps: must be a list"), ([1], "must be an object")])
def test_wrong_type_is_explained(steps: object, reason: str) -> None:
    assert reason in validation_error(steps=steps)


@pytest.mark.parametrize("field", ["prompt", "final_answer"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [("a\x00b", "NUL"), ("\ud800", "surrogate"), ("  \n", "white space"), ("\u2003", "white space")],
)
def test_invalid_text_is_rejected(field: str, text: str, reason: str) -> None:
    explanation = validation_error(**{field: text})
    assert field in explanation
    assert reason in explanation


@pytest.mark.parametrize(
    ("meta", "reason"),
    [
        ({"k": float("nan")}, "NaN"),
        ({"k": "\x00"}, "NUL"),
        ({"\ud800": 1}, "surrogate"),
        ({"k": 10**30}, "64 bits"),
    ],
)
def test_unserializable_meta_is_rejected(meta: dict[str, object], reason: str) -> None:
    assert reason in validation_error(meta=meta)


def test_deeply_nested_meta_is_rejected() -> None:
    meta: dict[str, object] = {}
    for _ in range(MAX_META_DEPTH + 1):
        meta = {"k": meta}
    assert "deeper" in validation_error(meta=meta)


def test_labels_include_scalars_and_lists() -> None:
    trace = make_trace(source="s", n=3, ok=True, tags=["a", "b"], nested={"x": 1}, none=None)
    assert list(labels_of(trace)) == [
        ("source", "s"),
        ("n", "3"),
        ("ok", "true"),
        ("tags", "a"),
        ("tags", "b"),
    ]


def test_normalised_prompt_ignores_case_and_whitespace() -> None:
    assert normalised_prompt("What  is\n2+2?") == normalised_prompt("what is 2+2? ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*VALID, "meta", "other"]), json_values))
def test_any_object_validates_or_raises(value: dict[str, object]) -> None:
    try:
        trace = Trace.model_validate(value)
    except ValidationError as error:
        explain_validation_error(error)
    else:
        assert Trace.model_validate_json(canonical_json(trace)) == trace


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_meta_round_trips_through_json(meta: dict[str, object]) -> None:
    try:
        trace = Trace.model_validate(VALID | {"meta": meta})
    except ValidationError:
        return
    assert Trace.model_validate_json(canonical_json(trace)).meta == trace.meta
