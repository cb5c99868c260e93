from typing import Any

import pytest

from tunix_rt.traces.formats.registry import RowOptions, detect_format, read_row
from tunix_rt.traces.formats.solutions import RowError
from tunix_rt.traces.types import Trace

USER = {"role": "user", "content": "6*7?"}
ASSISTANT = {"role": "assistant", "content": "6*7=42\n#### 42"}
SYSTEM = {"role": "system", "content": "Be brief."}


def read(row: dict[str, Any]) -> Trace:
    """Read a row in the format detected from its keys."""
    return read_row(row, RowOptions(row_format=detect_format(row)))


def shape(trace: Trace) -> tuple[str, list[str], str]:
    return trace.prompt, [step.content for step in trace.steps], trace.final_answer


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [USER, ASSISTANT]},
        {"prompt": "6*7?", "completion": "6*7=42\n#### 42"},
        {"prompt": [USER], "completion": [ASSISTANT]},
        {"conversations": [{"from": "human", "value": "6*7?"}, {"from": "gpt", "value": "6*7=42\n#### 42"}]},
        {"instruction": "6*7?", "input": "", "output": "6*7=42\n#### 42"},
        {"question": "6*7?", "answer": "6*7=<<6*7=42>>42\n#### 42"},
        {"id": "x", "prompt": "6*7?", "response": "6*7=42\n#### 42", "metadata": {}},
        {"prompt": "6*7?", "steps": ["6*7=42"], "final_answer": 42},
        {"prompt": "6*7?", "steps": [{"i": 0, "content": "6*7=42"}], "final_answer": "42"},
    ],
    ids=lambda row: "+".join(row),
)
def test_every_format_reads_same_trace(row: dict[str, Any]) -> None:
    assert shape(read(row)) == ("6*7?", ["6*7=42"], "42")


def test_system_message_is_prepended() -> None:
    trace = read({"messages": [SYSTEM, USER, ASSISTANT]})
    assert trace.prompt == "Be brief.\n\n6*7?"
    assert trace.meta["system_folded"] is True


def test_sharegpt_system_field_is_prepended() -> None:
    turns = [{"from": "human", "value": "6*7?"}, {"from": "gpt", "value": "42"}]
    assert read({"conversations": turns, "system": "Be brief."}).prompt == "Be brief.\n\n6*7?"


def test_alpaca_input_follows_instruction() -> None:
    row = {"instruction": "Double it.", "input": "21", "output": "42", "system": "Be brief."}
    assert read(row).prompt == "Be brief.\n\nDouble it.\n\n21"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_field_becomes_steps(key: str) -> None:
    trace = read({"messages": [USER, {"role": "assistant", key: "6*7\nis 42", "content": "42"}]})
    assert shape(trace) == ("6*7?", ["6*7", "is 42"], "42")
    assert trace.meta["answer_rule"] == "think"


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "6*"}, {"type": "text", "text": "7?"}]
    assert read({"messages": [{"role": "user", "content": parts}, ASSISTANT]}).prompt == "6*7?"


def test_extra_columns_are_kept_in_meta() -> None:
    trace = read({"messages": [USER, ASSISTANT], "topic": "times tables", "empty": ""})
    assert trace.meta == {"topic": "times tables", "answer_rule": "hash"}


def test_extra_columns_can_be_dropped() -> None:
    row = {"messages": [USER, ASSISTANT], "topic": "times tables"}
    assert "topic" not in read_row(row, RowOptions("messages", drop_extra_columns=True)).meta


def test_gsm8k_annotations_can_be_kept() -> None:
    row = {"question": "6*7?", "answer": "6*7=<<6*7=42>>42\n#### 42", "topic": "tables"}
    trace = read_row(row, RowOptions("gsm8k", keep_annotations=True))
    assert trace.steps[0].content == "6*7=<<6*7=42>>42"
    assert trace.meta == {"source": "gsm8k", "topic": "tables", "answer_rule": "hash"}


def test_require_marker_rejects_unmarked_answer() -> None:
    row = {"prompt": "6*7?", "completion": "6*7=42\nthat is 42"}
    assert read(row).meta["answer_rule"] == "last_line"
    with pytest.raises(RowError, match="no answer marker"):
        read_row(row, RowOptions("prompt_completion", require_marker=True))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"messages": [USER, ASSISTANT, USER, ASSISTANT]}, "more than one exchange"),
        ({"messages": [USER]}, "must be .* but is user"),
        ({"messages": []}, "but is empty"),
        ({"messages": "hello"}, "list of messages"),
        ({"messages": [USER, {"role": "tool", "content": "42"}]}, "role 'tool'"),
        ({"messages": [USER, ASSISTANT | {"tool_calls": [{"name": "calc"}]}]}, "tool_calls"),
        ({"messages": [USER, ASSISTANT | {"thinking": "a", "reasoning": "b"}]}, "both"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}, ASSISTANT]}, "not text"),
        ({"messages": [{"role": "user", "content": None}, ASSISTANT]}, "not null"),
        ({"conversations": [{"from": "human", "value": "a", "weight": 1}]}, "weight"),
        ({"conversations": {}}, "must be a list"),
        ({"instruction": "a", "output": "b", "history": [["c", "d"]]}, "more than one exchange"),
        ({"instruction": "a", "output": 5}, "must be text, not a number"),
        ({"prompt": "a", "completion": " "}, "is empty"),
        ({"prompts": "What is 2+2?", "final_answer": "4"}, "model turn"),
        ({"question": "a", "answer": "####"}, "no steps|nothing after"),
        ({"prompt": "a", "steps": [{"i": 0, "content": ""}], "final_answer": "b"}, "steps.0.content"),
        ({"prompt": "a", "response": "b", "metadata": 3}, "must be an object"),
    ],
)
def test_invalid_row_explains_reason(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        read(row)


def test_tunix_sft_conflicting_answers_are_rejected() -> None:
    chat = "<start_of_turn>user\n6*7?<end_of_turn>\n<start_of_turn>model\n#### 42<end_of_turn>"
    with pytest.raises(RowError, match="answers '42'"):
        read({"prompts": chat, "final_answer": "43"})


def test_unknown_format_names_keys() -> None:
    with pytest.raises(RowError, match="'foo', 'bar'"):
        detect_format({"foo": 1, "bar": 2})


def test_gsm8k_requires_answer_marker() -> None:
    with pytest.raises(RowError, match="no known format"):
        detect_format({"question": "6*7?", "answer": "42"})
