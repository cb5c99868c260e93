"""Find the answer in a completion, by stated rules."""

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tunix_rt.base.errors import DataError
from tunix_rt.evaluation.types import RULE_OF_MARKUP, Extraction, ExtractionRule
from tunix_rt.traces.completion import parse_completion, reasoning_lines
from tunix_rt.traces.types import MARKUPS, MarkupStyle


@dataclass(frozen=True)
class Found:
    """A text that a rule takes for an answer, and where its markup begins."""

    text: str
    start: int


@dataclass(frozen=True)
class Span:
    """The reasoning block: its tags, and what is between them."""

    start: int
    inner_start: int
    inner_end: int
    end: int

    def hides(self, position: int) -> bool:
        """Whether a position is inside the block."""
        return self.start <= position < self.end


Finder = Callable[[str, Span | None], list[Found]]

_REASONING_TAGS = {name: re.compile(rf"<(/?){name}>") for name in ("reasoning", "think")}
_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_BRACE = re.compile(r"\\boxed[ \t]{0,4}\{|\\.|[{}]", re.DOTALL)
_HASH_LINE = re.compile(r"####+[ \t]*\n?([^\n]*)")
_PHRASE = re.compile(
    r"(?:\banswer\b[ \t]{0,4}(?:is|was|equals|:|=)|^[ \t]{0,4}A:)[ \t]{0,4}:?[ \t*]{0,8}",
    re.IGNORECASE | re.MULTILINE,
)
_PHRASE_END = re.compile(r"\n|</?[a-z]+>|[.!?](?=\s|$)")
_VULGAR = "¼-¾⅐-⅞"
_NUMBER = re.compile(
    r"(?<![\w.])[-−+]?[$€£¥]?[-−]?"
    rf"(?:\d+[ ]\d+/\d+|\d*[{_VULGAR}]|(?:\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:[eE][-+]?\d{1,4}\b|/\d+)?(?:[ ]?%)?"
)


def reasoning_block(text: str, markup: MarkupStyle) -> Span | None:
    """From the first opening tag to the last closing one; from the beginning where only the closing one is.

    The markup's own tags come first, then those of the other one.

    Example:
        "<think>a</think>b", "think" -> start 0, inner 7 to 8, end 16
    """
    for name in ("think", "reasoning") if markup == "think" else ("reasoning", "think"):
        tags = list(_REASONING_TAGS[name].finditer(text))
        last = next((tag for tag in reversed(tags) if tag[1]), None)
        if last is not None:
            opening = next((tag for tag in tags if not tag[1] and tag.start() < last.start()), None)
            start, inner_start = opening.span() if opening else (0, 0)
            return Span(start, inner_start, last.start(), last.end())
    return None


def _in_answer_tags(text: str, hidden: Span | None) -> list[Found]:
    """The innermost complete `<answer>…</answer>` pairs outside the reasoning."""
    found: list[Found] = []
    opening: re.Match[str] | None = None
    for tag in _ANSWER_TAG.finditer(text):
        if hidden is not None and hidden.hides(tag.start()):
            opening = None
        elif not tag[1]:
            opening = tag
        elif opening is not None and (hidden is None or not opening.end() <= hidden.start < tag.start()):
            found.append(Found(text[opening.end() : tag.start()].strip(), opening.start()))
            opening = None
    return found


def _after_think(text: str, hidden: Span | None) -> list[Found]:
    """Everything after the reasoning block."""
    return [] if hidden is None else [Found(text[hidden.end :].strip(), hidden.end)]


def _in_boxes(text: str, hidden: Span | None) -> list[Found]:
    r"""What the outermost complete `\boxed{…}` hold; braces may nest, `\{` is no brace."""
    open_braces: list[re.Match[str]] = []
    boxes: list[tuple[int, int, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0][-1] == "{" and brace[0] != "\\{":
            open_braces.append(brace)
        elif brace[0] == "}" and open_braces:
            opening = open_braces.pop()
            if opening[0] != "{":
                while boxes and boxes[-1][0] > opening.start():
                    boxes.pop()
                boxes.append((opening.start(), opening.end(), brace.start()))
    return [
        Found(text[inner:end].strip(), start)
        for start, inner, end in boxes
        if hidden is None or not hidden.hides(start)
    ]


def _after_hashes(text: str, hidden: Span | None) -> list[Found]:
    """The rest of the line after each `####`, or the next line where it is empty."""
    return [
        Found(line[1].strip(), line.start())
        for line in _HASH_LINE.finditer(text)
        if hidden is None or not hidden.hides(line.start())
    ]


def _last_phrase(text: str, hidden: Span | None) -> list[Found]:
    """What follows the last `the answer is`, `Answer:` or `A:`, up to the end of the sentence."""
    last = _last_match(_PHRASE, text)
    if last is None:
        return []
    end = _PHRASE_END.search(text, last.end())
    return [Found(text[last.end() : end.start() if end else len(text)].strip(" \t*"), last.start())]


def _last_number(text: str, hidden: Span | None) -> list[Found]:
    """The last number of the text, with its sign, currency, per cent sign or denominator."""
    last = _last_match(_NUMBER, text)
    return [] if last is None else [Found(last[0].strip(), last.start())]


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


FINDERS: Mapping[ExtractionRule, Finder] = {
    "answer-tag": _in_answer_tags,
    "after-think": _after_think,
    "boxed": _in_boxes,
    "hash": _after_hashes,
    "answer-phrase": _last_phrase,
    "last-number": _last_number,
}
WHOLE_TEXT_RULES: frozenset[ExtractionRule] = frozenset({"answer-phrase", "last-number"})
"""Lenient rules read the reasoning as well: what they find is counted apart."""

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
        steps=tuple(line.text for line in reasoning_lines(reasoning, markup)),
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
