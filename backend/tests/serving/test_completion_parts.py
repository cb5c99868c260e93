"""Splitting streamed text into reasoning and answer, independently of chunk boundaries."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunix_rt.serving.splitter import CompletionSplitter, StopFinder, starts_in_reasoning
from tunix_rt.traces.completion import render_completion
from tunix_rt.traces.types import MARKUP_STYLES, MARKUPS, MarkupStyle, trace_from_text_steps

TRACE = trace_from_text_steps("What is 6 * 7?", ["six sevens", "6*7 = 42"], "42")
FRAGMENTS = [mark for markup in MARKUPS.values() for mark in markup.reserved]
FRAGMENTS += ["<", ">", "</", "<ans", "answer>", "\\", "{", "}", "#", "##", " ", "\n", "a", "\\}", "é", "x y"]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def split_at(text: str, offsets: Sequence[int]) -> list[str]:
    bounds = [0, *sorted(offset % (len(text) + 1) for offset in offsets), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def split_parts(
    pieces: Sequence[str], style: MarkupStyle, *, is_in_reasoning: bool = False
) -> tuple[str, str]:
    splitter = CompletionSplitter(style, is_in_reasoning=is_in_reasoning)
    emitted = [part for piece in pieces for part in splitter.feed(piece)] + splitter.finish()
    assert all(part.text for part in emitted)
    reasoning = "".join(part.text for part in emitted if part.kind == "reasoning")
    return reasoning, "".join(part.text for part in emitted if part.kind == "content")


@pytest.mark.parametrize("style", MARKUP_STYLES)
def test_rendered_trace_is_split(style: MarkupStyle) -> None:
    text = render_completion(TRACE, style).text
    work = "(1/2) six sevens\n(2/2) 6*7 = 42" if style == "counted" else "six sevens\n6*7 = 42"
    assert split_parts([text], style) == (work, "42")
    assert split_parts(list(text), style) == (work, "42")


@given(text=TEXTS, offsets=st.lists(st.integers(0, 200), max_size=8), style=st.sampled_from(MARKUP_STYLES))
def test_parts_do_not_depend_on_chunks(text: str, offsets: list[int], style: MarkupStyle) -> None:
    assert split_parts(split_at(text, offsets), style) == split_parts([text], style)


@given(text=st.text(alphabet="ab <>/{}\\#\n"), style=st.sampled_from(["reasoning", "think"]))
def test_text_without_markup_is_content(text: str, style: MarkupStyle) -> None:
    assert split_parts(list(text), style) == ("", text)


def test_truncated_completion_is_reasoning() -> None:
    assert split_parts(["<reason", "ing>\n6*7", " = 4"], "reasoning") == ("6*7 = 4", "")


def test_answer_tag_ends_unclosed_reasoning() -> None:
    assert split_parts(["<reasoning>6*7<answer>42"], "reasoning") == ("6*7", "42")


def test_partial_final_tag_is_text() -> None:
    assert split_parts(["<answer>42</ans"], "reasoning") == ("", "42</ans")


def test_boxed_answer_may_nest_braces() -> None:
    assert split_parts(list(r"so \boxed{\frac{1}{2}\}} done"), "boxed") == ("so", r"\frac{1}{2}\}done")


def test_template_can_open_reasoning() -> None:
    assert starts_in_reasoning("<|im_start|>assistant\n<think>\n", "think")
    assert not starts_in_reasoning("<|im_start|>assistant\n", "think")
    assert not starts_in_reasoning("anything", "hash")
    assert split_parts(["\n6*7</think>\n\n42"], "think", is_in_reasoning=True) == ("6*7", "42")


def cut_at_stop(pieces: Sequence[str], stops: Sequence[str]) -> tuple[str, bool]:
    finder = StopFinder(stops)
    text = "".join([finder.feed(piece) for piece in pieces])
    return text + finder.finish(), finder.has_stopped


@pytest.mark.parametrize(
    ("text", "stops", "expected"),
    [
        ("one two", [], ("one two", False)),
        ("one two", ["tw"], ("one ", True)),
        ("one two", ["twos"], ("one two", False)),
        ("abcd", ["abcd", "bc"], ("a", True)),
        ("aab", ["ab"], ("a", True)),
    ],
)
def test_first_complete_stop_ends_text(text: str, stops: list[str], expected: tuple[str, bool]) -> None:
    assert cut_at_stop([text], stops) == expected
    assert cut_at_stop(list(text), stops) == expected


@given(
    text=st.text(alphabet="ab", max_size=20),
    stops=st.lists(st.text(alphabet="ab", min_size=1, max_size=4), max_size=4),
    offsets=st.lists(st.integers(0, 20), max_size=6),
)
def test_stops_do_not_depend_on_chunks(text: str, stops: list[str], offsets: list[int]) -> None:
    assert cut_at_stop(split_at(text, offsets), stops) == cut_at_stop([text], stops)
