"""The eval set: questions with one known answer each. The JSONL files and the API use this shape."""

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from tunix_rt.base.records import Text
from tunix_rt.core.evaluation.prediction import CheckerName
from tunix_rt.traces.types import MAX_ANSWER_CHARS, MAX_PROMPT_CHARS

Section = Literal["core", "trace_sensitive", "edge_case"]
Difficulty = Literal["easy", "medium", "hard"]

_OF_EVERY_ITEM = frozenset({"id", "prompt", "expected_answer", "section", "category", "difficulty"})


class GymTask(BaseModel):
    """What reasoning-gym needs to verify an answer to one of its own entries."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: Annotated[Text, Field(max_length=128)]
    """Of the task, e.g. `chain_sum`."""
    entry: dict[str, JsonValue]
    """The entry itself: question, answer and metadata."""


class EvalItem(BaseModel):
    """One question and the answer that counts as right."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: Annotated[Text, Field(max_length=128)]
    prompt: Annotated[Text, Field(max_length=MAX_PROMPT_CHARS)]
    expected_answer: Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)]
    section: Section = "core"
    """`core`: everyday skills; `trace_sensitive`: hard without working; `edge_case`: odd input."""
    category: Annotated[Text, Field(max_length=64)] = "general"
    difficulty: Difficulty = "medium"
    answer_type: CheckerName | None = None
    """What decides whether an answer is right. None: chosen by the expected answer's form."""
    accepted_answers: tuple[Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)], ...] = ()
    """Other answers that are right as well."""
    choices: tuple[Annotated[Text, Field(max_length=MAX_ANSWER_CHARS)], ...] = ()
    """The texts of options A, B, C, …; the expected answer is a letter or one of the texts."""
    task: GymTask | None = None
    """For `answer_type: task`."""

    @model_validator(mode="after")
    def _can_be_checked(self) -> "EvalItem":
        if (self.answer_type == "task") != (self.task is not None):
            raise ValueError("answer_type 'task' and the field task go together")
        if self.choices and self.answer_type not in (None, "choice"):
            raise ValueError(f"choices need answer_type 'choice', not {self.answer_type!r}")
        return self


def item_json(item: EvalItem) -> str:
    """The one text of an item: a line of an eval set file, in the order of the fields.

    What every item has is always written; what few items need, only where it is given.
    """
    values = item.model_dump(mode="json")
    defaults = EvalItem.model_fields
    kept = {
        name: value
        for name, value in values.items()
        if name in _OF_EVERY_ITEM or getattr(item, name) != defaults[name].default
    }
    return json.dumps(kept, ensure_ascii=False)


def evalset_hash(items: Iterable[EvalItem]) -> str:
    """SHA-256 of the items in their order: equal hashes mean that the same questions were asked."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(item_json(item).encode("utf-8") + b"\n")
    return digest.hexdigest()
