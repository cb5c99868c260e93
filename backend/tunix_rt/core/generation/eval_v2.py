"""The shipped eval set: 100 hand-written questions in three sections."""

from collections.abc import Iterator

from tunix_rt.core.evalset import EvalItem, Section
from tunix_rt.core.generation.eval_core import CORE, Row
from tunix_rt.core.generation.eval_hard import EDGE_CASE, TRACE_SENSITIVE

EVAL_V2 = "eval_v2"
_SECTIONS: tuple[tuple[Section, tuple[Row, ...]], ...] = (
    ("core", CORE),
    ("trace_sensitive", TRACE_SENSITIVE),
    ("edge_case", EDGE_CASE),
)
_SPELLINGS = frozenset({"1999-07-04", "1200050"})
"""Answers whose form is the question: another spelling of the same day or number is wrong."""


def eval_v2_items() -> Iterator[EvalItem]:
    """The items in order, numbered `eval-v2-001` onwards."""
    rows = [(section, row) for section, section_rows in _SECTIONS for row in section_rows]
    for number, (section, (category, difficulty, prompt, answer)) in enumerate(rows, start=1):
        yield EvalItem(
            id=f"eval-v2-{number:03d}",
            prompt=prompt,
            expected_answer=answer,
            section=section,
            category=category,
            difficulty=difficulty,
            answer_type="text" if answer in _SPELLINGS else None,
        )
