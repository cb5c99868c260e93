"""The eval set: questions with one known answer each. The JSONL files and the API use this shape."""

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tunix_rt.core.trace import MAX_ANSWER_CHARS, MAX_PROMPT_CHARS, Text

Section = Literal["core", "trace_sensitive", "edge_case"]
Difficulty = Literal["easy", "medium", "hard"]


class EvalItem(BaseModel):
    """One question and the answer that counts as right."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[Text, Field(max_length=128)]
    prompt: Annotated[Text, Field(max_length=MAX_PROMPT_CHARS)]
    expected_answer: Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)]
    section: Section
    """`core`: everyday skills; `trace_sensitive`: hard without working; `edge_case`: odd input."""
    category: Annotated[Text, Field(max_length=64)]
    difficulty: Difficulty


def item_json(item: EvalItem) -> str:
    """The one text of an item: a line of an eval set file, in the order of the fields."""
    return json.dumps(item.model_dump(), ensure_ascii=False)


def evalset_hash(items: Iterable[EvalItem]) -> str:
    """SHA-256 of the items in their order: equal hashes mean that the same questions were asked."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(item_json(item).encode("utf-8") + b"\n")
    return digest.hexdigest()
