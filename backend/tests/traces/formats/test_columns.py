import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.traces.formats.converters import parse_column_map, require_columns
from tunix_rt.traces.formats.registry import RowOptions, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import Trace

STEPS_MAP = parse_column_map(["prompt=q", "steps=work", "final_answer=a", "meta.category=topic"])


def read(row: dict[str, object], column_map: dict[str, str] = STEPS_MAP) -> Trace:
    return read_row(row, RowOptions("columns", column_map=column_map))


@pytest.mark.parametrize("work", [["a", "b"], '["a", "b"]', "a\nb", "1. a\n2. b"])
def test_steps_accept_list_json_or_text(work: object) -> None:
    trace = read({"q": "why?", "work": work, "a": "so"})
    assert [step.content for step in trace.steps] == ["a", "b"]


def test_steps_accept_typed_objects() -> None:
    trace = read({"q": "why?", "work": [{"i": 3, "type": "check", "content": "a"}], "a": "so"})
    assert (trace.steps[0].i, trace.steps[0].type) == (3, "check")


def test_mapped_and_extra_columns_reach_meta() -> None:
    trace = read({"q": "why?", "work": "a", "a": 4, "topic": "cats", "year": 1999, "note": None})
    assert trace.final_answer == "4"
    assert trace.meta == {"category": "cats", "year": 1999, "answer_rule": "column"}


def test_completion_column_is_split() -> None:
    trace = read({"q": "why?", "sol": "a\n#### so"}, {"prompt": "q", "completion": "sol"})
    assert (trace.steps[0].content, trace.final_answer) == ("a", "so")


@pytest.mark.parametrize("work", ["", [], 5, None, "[{", '["a"'])
def test_invalid_steps_raise_row_error(work: object) -> None:
    with pytest.raises(RowError, match="work"):
        read({"q": "why?", "work": work, "a": "so"})


@pytest.mark.parametrize("answer", [None, "", True, float("inf"), float("nan")])
def test_invalid_answer_raises_row_error(answer: object) -> None:
    with pytest.raises(RowError, match="'a'"):
        read({"q": "why?", "work": "x", "a": answer})


@pytest.mark.parametrize("pair", ["prompt", "prompt=", "promt=q", "meta.=x", "=q"])
def test_invalid_map_entry_is_rejected(pair: str) -> None:
    with pytest.raises(InvalidInputError, match="column map entry"):
        parse_column_map([pair])


def test_unknown_field_suggests_nearest() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'prompt'"):
        parse_column_map(["promt=q"])


@pytest.mark.parametrize(
    "pairs", [["prompt=q"], ["prompt=q", "steps=s"], ["completion=c"], ["meta.x=y"], ["prompt=q", "prompt=r"]]
)
def test_unusable_map_is_rejected(pairs: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        parse_column_map(pairs)


def test_missing_column_suggests_nearest() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean 'question'"):
        require_columns({"prompt": "qestion", "completion": "answer"}, ["question", "answer"])
