"""The answer and the shown work in a completion, by stated rules in a stated order; see `docs/answers.md`."""

from dataclasses import dataclass

from tunix_rt.base.errors import DataError
from tunix_rt.core.evaluation.protocol import RULE_OF_MARKUP, Extraction, ExtractionRule
from tunix_rt.evals.extraction_rules import FINDERS, WHOLE_TEXT_RULES, Found, Span, reasoning_block
from tunix_rt.traces.completion import parse_completion, shown_lines
from tunix_rt.traces.types import MARKUPS, MarkupStyle

EXTRACTOR_VERSION = "1"
"""Changes whenever the same completion could give another answer."""
MAX_ANSWER_CHARS = 4_000
"""A longer answer is wrong without being read."""


@dataclass(frozen=True)
class Extracted:
    """What a completion says."""

    answer: str | None
    """None: no rule found any text. Several different answers are joined by ` | `."""
    given: tuple[str, ...]
    """The different answers that the rule found, in order; all of them must be right."""
    rule: ExtractionRule | None
    is_lenient: bool
    reasoning: str
    """What stands before the answer, without markup."""
    steps: tuple[str, ...]
    """The lines of the reasoning that are not blank, without the counts that the markup gives them."""
    is_well_formed: bool


def extract(text: str, markup: MarkupStyle, extraction: Extraction) -> Extracted:
    r"""Read a completion. The first rule that finds a text wins; time is linear in the length.

    Example:
        "<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>" -> "42" by answer-tag, steps ("6*7=42",)
    """
    block = reasoning_block(text, markup)
    found, rule = _first_found(text, block, extraction)
    is_lenient = rule in extraction.lenient_rules
    # A lenient rule takes its answer out of the work, so all of the text is work.
    reasoning = _reasoning(text, block, [] if is_lenient else found)
    given = tuple(dict.fromkeys(part.text for part in found))
    return Extracted(
        answer=" | ".join(given) if given else None,
        given=given,
        rule=rule,
        is_lenient=is_lenient,
        reasoning=reasoning,
        steps=tuple(line.text for line in shown_lines(reasoning, markup)),
        is_well_formed=_is_well_formed(text, markup, block),
    )


def _first_found(
    text: str, block: Span | None, extraction: Extraction
) -> tuple[list[Found], ExtractionRule | None]:
    for rule in extraction.rules + extraction.lenient_rules:
        found = _found_by(rule, text, block)
        if found:
            return found, rule
    return [], None


def _found_by(rule: ExtractionRule, text: str, block: Span | None) -> list[Found]:
    # What stands inside the reasoning is thought, not answered.
    hidden = None if rule in WHOLE_TEXT_RULES else block
    return [found for found in FINDERS[rule](text, hidden) if found.text]


def _reasoning(text: str, block: Span | None, found: list[Found]) -> str:
    if block is not None:
        return text[block.inner_start : block.inner_end]
    end = min((part.start for part in found), default=len(text))
    for tag in ("<reasoning>", "<think>"):
        start = text.find(tag, 0, end)
        if start >= 0:
            return text[start + len(tag) : end]
    return text[:end]


def _is_well_formed(text: str, markup: MarkupStyle, block: Span | None) -> bool:
    # Exactly once each is part of the form; asked first, because it keeps the pattern's search linear.
    if any(text.count(mark) != 1 for mark in MARKUPS[markup].reserved):
        return False
    try:
        parsed = parse_completion(text, markup)
    except DataError:
        return False
    found = _found_by(RULE_OF_MARKUP[markup], text, block)
    return [part.text for part in found] == [parsed.answer]
