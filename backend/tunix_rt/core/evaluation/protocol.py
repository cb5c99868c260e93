"""How answers are asked for and read. Two evaluations are comparable when their protocols are the same."""

import hashlib
import json
from typing import Literal, get_args

from pydantic import model_validator

from tunix_rt.base.records import Record, flat
from tunix_rt.engines.types import Decoding
from tunix_rt.traces.types import DEFAULT_MARKUP, MarkupStyle

ExtractionRule = Literal["answer-tag", "after-think", "boxed", "hash", "answer-phrase", "last-number"]
EXTRACTION_RULES: tuple[ExtractionRule, ...] = get_args(ExtractionRule)

RULE_OF_MARKUP: dict[MarkupStyle, ExtractionRule] = {
    "reasoning": "answer-tag",
    "counted": "answer-tag",
    "think": "after-think",
    "boxed": "boxed",
    "hash": "hash",
}
"""The rule that reads the answer of a completion in the markup that the model was asked for."""


class Extraction(Record):
    """Which rules may find the answer in a completion, in order; the first that finds one wins."""

    rules: tuple[ExtractionRule, ...]
    """The rule of the markup first, then alternates."""
    lenient_rules: tuple[ExtractionRule, ...] = ()
    """Tried last. What they find is judged and counted apart: it never raises the accuracy."""

    @model_validator(mode="after")
    def _each_once(self) -> "Extraction":
        both = self.rules + self.lenient_rules
        if not self.rules or len(set(both)) < len(both):
            raise ValueError("name at least one extraction rule, and each of them once")
        return self


def default_extraction(markup: MarkupStyle, *, is_lenient: bool = False) -> Extraction:
    """The rule of the markup, then the other markups' own; with leniency, phrases and the last number."""
    first = RULE_OF_MARKUP[markup]
    marked: tuple[ExtractionRule, ...] = ("answer-tag", "boxed", "hash")
    rules = (first, *(rule for rule in marked if rule != first))
    if markup == "think":
        # It takes whatever follows, so marks in a longer text come first; no other model is asked for it.
        rules = ("answer-tag", "boxed", "after-think", "hash")
    lenient: tuple[ExtractionRule, ...] = ("answer-phrase", "last-number") if is_lenient else ()
    return Extraction(rules=rules, lenient_rules=lenient)


class Protocol(Record):
    """Everything that decides a score, apart from the model."""

    evalset_hash: str
    """SHA-256 of the items that were asked, in their order."""
    template_hash: str
    """SHA-256 of the chat template's source."""
    markup: MarkupStyle = DEFAULT_MARKUP
    decoding: Decoding = Decoding()
    extraction: Extraction
    max_answer_chars: int
    """A longer answer is wrong without being read."""
    versions: dict[str, str]
    """Of extractor, checkers and linter, by name."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all of it: equal fingerprints mean comparable scores."""
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def differences(self, other: "Protocol") -> tuple[str, ...]:
        """What the two do not share, one line each: `decoding.temperature: 0.0 / 0.7`."""
        mine, theirs = flat(self.to_json()), flat(other.to_json())
        keys = [key for key in sorted(mine.keys() | theirs.keys()) if mine.get(key) != theirs.get(key)]
        return tuple(f"{key}: {mine.get(key, '-')} / {theirs.get(key, '-')}" for key in keys)
