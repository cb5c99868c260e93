"""GSM8K rows: `question`, and an `answer` whose lines are the steps and whose last line is `#### 72`."""

import re
from collections.abc import Mapping
from typing import Any

from tunix_rt.core.trace import Trace, trace_from_text_steps

_ANNOTATION = re.compile(r"<<[^<>]*>>")
_ANSWER_MARK = "####"


def trace_from_gsm8k(row: Mapping[str, Any], *, keep_annotations: bool) -> Trace:
    r"""The trace of one GSM8K row.

    Args:
        row: has `question` and `answer`.
        keep_annotations: keep the `<<48/2=24>>` calculator annotations in the steps.

    Raises:
        ValueError: the row is not in this format; the message says why.

    Example:
        answer "48/2 = <<48/2=24>>24\n#### 24" -> one step "48/2 = 24", final answer "24"
    """
    question, answer = _text(row, "question"), _text(row, "answer")
    work, mark, final_answer = answer.rpartition(_ANSWER_MARK)
    if not mark:
        raise ValueError(f"answer has no '{_ANSWER_MARK}' line with the final answer")
    if not keep_annotations:
        work = without_annotations(work)
    steps = [line.strip() for line in work.splitlines() if line.strip()]
    if not steps:
        raise ValueError(f"answer has no steps before '{_ANSWER_MARK}'")
    final_answer = final_answer.strip().replace(",", "")
    if not final_answer:
        raise ValueError(f"answer has nothing after '{_ANSWER_MARK}'")
    return trace_from_text_steps(question, steps, final_answer, {"source": "gsm8k"})


def without_annotations(text: str) -> str:
    """The text without its `<<…>>` calculator annotations."""
    return _ANNOTATION.sub("", text)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key} is missing or is not text")
    return value
