"""Conversion of GSM8K rows to traces."""

from typing import Any

import pytest

from tunix_rt.traces.formats.converters import trace_from_gsm8k

ROW = {
    "question": "Ann has 1,200 beads and buys as many again. How many has she?",
    "answer": (
        "She buys 1200*1 = <<1200*1=1200>>1,200 beads.\n\nSo 1200+1200 = <<1200+1200=2400>>2400.\n#### 2,400"
    ),
}


def test_answer_lines_become_steps() -> None:
    trace = trace_from_gsm8k(ROW, keep_annotations=False)
    assert [step.content for step in trace.steps] == [
        "She buys 1200*1 = 1,200 beads.",
        "So 1200+1200 = 2400.",
    ]
    assert (trace.final_answer, trace.meta) == ("2400", {"source": "gsm8k"})


def test_annotations_can_be_kept() -> None:
    assert "<<1200+1200=2400>>2400" in trace_from_gsm8k(ROW, keep_annotations=True).steps[1].content


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"answer": "1\n#### 1"}, "question is missing"),
        ({"question": "q", "answer": 5}, "answer is missing or is not text"),
        ({"question": "q", "answer": "1 + 1 = 2"}, "no '####' line"),
        ({"question": "q", "answer": "#### 2"}, "no steps before"),
        ({"question": "q", "answer": "1 + 1 = 2\n####  "}, "nothing after"),
    ],
)
def test_invalid_row_explains_reason(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        trace_from_gsm8k(row, keep_annotations=False)
