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


def invalid(**changes: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Trace.model_validate(VALID | changes)
    return explain_validation_error(caught.value)


def test_a_trace_survives_its_own_json() -> None:
    trace = make_trace(source="here", tags=["a", "b"])
    assert Trace.model_validate_json(canonical_json(trace)) == trace


def test_the_same_trace_has_the_same_id_whatever_the_order_of_its_keys() -> None:
    reordered = json.loads(json.dumps(dict(reversed(VALID.items()))))
    first, second = Trace.model_validate(VALID), Trace.model_validate(reordered)
    assert trace_id(canonical_json(first)) == trace_id(canonical_json(second))


def test_another_answer_is_another_trace() -> None:
    ids = {trace_id(canonical_json(make_trace(final_answer=answer))) for answer in ("5", "6")}
    assert len(ids) == 2


def test_an_unknown_field_is_named() -> None:
    assert "promt" in invalid(promt="typo")


@pytest.mark.parametrize("positions", [[1, 0], [0, 0], [2, 1]])
def test_steps_out_of_order_are_refused(positions: list[int]) -> None:
    steps = [{"i": i, "content": "x"} for i in positions]
    assert "ascending" in invalid(steps=steps)


def test_a_trace_without_steps_is_refused() -> None:
    assert "steps" in invalid(steps=[])


@pytest.mark.parametrize(("steps", "reason"), [("text", "steps: must be a list"), ([1], "must be an object")])
def test_a_wrong_shape_is_explained_in_the_words_of_json(steps: object, reason: str) -> None:
    assert reason in invalid(steps=steps)


def test_more_than_a_thousand_steps_are_refused() -> None:
    assert "steps" in invalid(steps=[{"i": i, "content": "x"} for i in range(1001)])


@pytest.mark.parametrize("field", ["prompt", "final_answer"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [("a\x00b", "NUL"), ("\ud800", "surrogate"), ("  \n", "white space"), ("\u2003", "white space")],
)
def test_text_that_no_database_can_hold_is_refused(field: str, text: str, reason: str) -> None:
    explanation = invalid(**{field: text})
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
def test_meta_that_json_cannot_hold_is_refused(meta: dict[str, object], reason: str) -> None:
    assert reason in invalid(meta=meta)


def test_meta_nested_too_deeply_is_refused() -> None:
    meta: dict[str, object] = {}
    for _ in range(MAX_META_DEPTH + 1):
        meta = {"k": meta}
    assert "deeper" in invalid(meta=meta)


def test_labels_come_from_scalars_and_lists_of_scalars() -> None:
    trace = make_trace(source="s", n=3, ok=True, tags=["a", "b"], nested={"x": 1}, none=None)
    assert list(labels_of(trace)) == [
        ("source", "s"),
        ("n", "3"),
        ("ok", "true"),
        ("tags", "a"),
        ("tags", "b"),
    ]


def test_prompts_that_differ_in_case_and_space_are_the_same_question() -> None:
    assert normalised_prompt("What  is\n2+2?") == normalised_prompt("what is 2+2? ")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*VALID, "meta", "other"]), json_values))
def test_any_object_is_a_trace_or_a_validation_error(value: dict[str, object]) -> None:
    try:
        trace = Trace.model_validate(value)
    except ValidationError as error:
        explain_validation_error(error)
    else:
        assert Trace.model_validate_json(canonical_json(trace)) == trace


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_accepted_meta_survives_its_json(meta: dict[str, object]) -> None:
    try:
        trace = Trace.model_validate(VALID | {"meta": meta})
    except ValidationError:
        return
    assert Trace.model_validate_json(canonical_json(trace)).meta == trace.meta
