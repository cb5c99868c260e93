"""Extract the answer from a completion by explicit rules."""

import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tunix_rt.base.errors import DataError
from tunix_rt.evaluation.types import RULE_OF_MARKUP, Extraction, ExtractionRule
from tunix_rt.traces.completion import ParsedCompletion, parse_completion, reasoning_lines
from tunix_rt.traces.types import MARKUPS, MarkupStyle


@dataclass(frozen=True)
class Candidate:
    """A text that a rule considers an answer, and where its markup starts."""

    text: str
    start: int


@dataclass(frozen=True)
class Span:
    """The reasoning block: its tags and the text between them."""

    start: int
    inner_start: int
    inner_end: int
    end: int

    def contains(self, position: int) -> bool:
        """Whether a position is inside the block."""
        return self.start <= position < self.end


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
    """From the first opening tag, or the start of the text if there is none, to the last closing tag.

    The tags of the markup are tried first, then those of the other one.

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


def _in_answer_tags(text: str, hidden: Span | None) -> list[Candidate]:
    """The innermost complete `<answer>…</answer>` pairs outside the reasoning."""
    found: list[Candidate] = []
    opening: re.Match[str] | None = None
    for tag in _ANSWER_TAG.finditer(text):
        if hidden is not None and hidden.contains(tag.start()):
            opening = None
        elif not tag[1]:
            opening = tag
        elif opening is not None and (hidden is None or not opening.end() <= hidden.start < tag.start()):
            found.append(Candidate(text[opening.end() : tag.start()].strip(), opening.start()))
            opening = None
    return found


def _after_think(text: str, hidden: Span | None) -> list[Candidate]:
    """All text after the reasoning block."""
    return [] if hidden is None else [Candidate(text[hidden.end :].strip(), hidden.end)]


def _in_boxes(text: str, _: Span | None) -> list[Candidate]:
    r"""The contents of the outermost complete `\boxed{…}`; braces may nest, `\{` is not a brace."""
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
    return [Candidate(text[inner:end].strip(), start) for start, inner, end in boxes]


def _after_hashes(text: str, _: Span | None) -> list[Candidate]:
    """The rest of the line after each `####`, or the next line if it is empty."""
    return [Candidate(line[1].strip(), line.start()) for line in _HASH_LINE.finditer(text)]


def _last_phrase(text: str, _: Span | None) -> list[Candidate]:
    """The text after the last `the answer is`, `Answer:` or `A:`, up to the end of the sentence."""
    last = _last_match(_PHRASE, text)
    if last is None:
        return []
    end = _PHRASE_END.search(text, last.end())
    return [Candidate(text[last.end() : end.start() if end else len(text)].strip(" \t*"), last.start())]


def _last_number(text: str, _: Span | None) -> list[Candidate]:
    """The last number of the text, with its sign, currency, percent sign or denominator."""
    last = _last_match(_NUMBER, text)
    return [] if last is None else [Candidate(last[0].strip(), last.start())]


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


FINDERS: Mapping[ExtractionRule, Callable[[str, Span | None], list[Candidate]]] = {
    "answer-tag": _in_answer_tags,
    "after-think": _after_think,
    "boxed": _in_boxes,
    "hash": _after_hashes,
    "answer-phrase": _last_phrase,
    "last-number": _last_number,
}

EXTRACTOR_VERSION = "1"
"""Changes whenever the same completion could give another answer."""
MAX_ANSWER_CHARS = 4_000
"""Longer answers are wrong without being checked."""


@dataclass(frozen=True)
class Extracted:
    """The answer and the steps of a completion."""

    answer: str | None
    """None: no rule matched. Several different answers are joined by ` | `."""
    given: tuple[str, ...]
    """The different answers that the rule found, in order; all of them must be correct."""
    rule: ExtractionRule | None
    is_lenient: bool
    reasoning: str
    """What stands before the answer, without markup."""
    steps: tuple[str, ...]
    """The nonblank lines of the reasoning, without the step numbers of the markup."""
    is_well_formed: bool


def extract(text: str, markup: MarkupStyle, extraction: Extraction) -> Extracted:
    r"""Extract answer and steps. The first rule that finds a text wins; linear in the length of the text.

    Example:
        "<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>" -> "42" by answer-tag, steps ("6*7=42",)
    """
    block = reasoning_block(text, markup)
    found: list[Candidate] = []
    rule: ExtractionRule | None
    for rule in extraction.rules + extraction.lenient_rules:
        if found := _found_by(rule, text, block):
            break
    else:
        rule = None
    is_lenient = rule in extraction.lenient_rules
    # A lenient rule takes its answer from the reasoning, so the whole text is reasoning.
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


def parse_well_formed(text: str, markup: MarkupStyle) -> ParsedCompletion | None:
    """The parts of a completion in exactly the form that training teaches; None for any other."""
    # Each mark must occur exactly once; checked first, because it keeps the pattern's search linear.
    if any(text.count(mark) != 1 for mark in MARKUPS[markup].reserved):
        return None
    try:
        return parse_completion(text, markup)
    except DataError:
        return None


def _found_by(rule: ExtractionRule, text: str, block: Span | None) -> list[Candidate]:
    # Text inside the reasoning is not an answer, except to these two, whose answers are counted separately.
    hidden = None if rule in ("answer-phrase", "last-number") else block
    candidates = FINDERS[rule](text, hidden)
    return [one for one in candidates if one.text and not (hidden and hidden.contains(one.start))]


def _reasoning(text: str, block: Span | None, found: list[Candidate]) -> str:
    if block is not None:
        return text[block.inner_start : block.inner_end]
    end = min((part.start for part in found), default=len(text))
    for tag in ("<reasoning>", "<think>"):
        start = text.find(tag, 0, end)
        if start >= 0:
            return text[start + len(tag) : end]
    return text[:end]


def _is_well_formed(text: str, markup: MarkupStyle, block: Span | None) -> bool:
    parsed = parse_well_formed(text, markup)
    if parsed is None:
        return False
    return [part.text for part in _found_by(RULE_OF_MARKUP[markup], text, block)] == [parsed.answer]
