"""Rendering a trace as a completion, and parsing it back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.base.errors import DataError
from tunix_rt.traces.completion import chat_messages, parse_completion, render_completion, reserved_markup_in
from tunix_rt.traces.types import MARKUP_STYLES, MarkupStyle, Trace, trace_from_text_steps

SIX_SEVENS = trace_from_text_steps("What is 6 * 7?", ["6 * 7 is six sevens.", "6 * 7 = 42"], "42")

RENDERED: dict[MarkupStyle, str] = {
    "reasoning": "<reasoning>\n6 * 7 is six sevens.\n6 * 7 = 42\n</reasoning>\n<answer>42</answer>",
    "counted": "<reasoning>\n(1/2) 6 * 7 is six sevens.\n(2/2) 6 * 7 = 42\n</reasoning>\n<answer>42</answer>",
    "think": "<think>\n6 * 7 is six sevens.\n6 * 7 = 42\n</think>\n\n42",
    "boxed": "6 * 7 is six sevens.\n6 * 7 = 42\n\\boxed{42}",
    "hash": "6 * 7 is six sevens.\n6 * 7 = 42\n#### 42",
}

single_line = (
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\n"), min_size=1, max_size=30)
    .map(str.strip)
    .filter(bool)
)
traces = st.builds(
    trace_from_text_steps, single_line, st.lists(single_line, min_size=1, max_size=4), single_line
)


def step_contents(trace: Trace) -> list[str]:
    return [step.content for step in trace.steps]


@pytest.mark.parametrize("style", MARKUP_STYLES)
def test_each_style_renders_as_documented(style: MarkupStyle) -> None:
    assert render_completion(SIX_SEVENS, style).text == RENDERED[style]


@pytest.mark.parametrize("style", MARKUP_STYLES)
def test_spans_cover_completion_without_gaps(style: MarkupStyle) -> None:
    completion = render_completion(SIX_SEVENS, style)
    assert "".join(completion.text[span.start : span.end] for span in completion.spans) == completion.text
    assert [completion.text[s.start : s.end] for s in completion.spans if s.part == "answer"] == ["42"]
    assert [completion.text[s.start : s.end] for s in completion.spans if s.part == "reasoning"] == [
        "(1/2) 6 * 7 is six sevens.\n(2/2) 6 * 7 = 42"
        if style == "counted"
        else "6 * 7 is six sevens.\n6 * 7 = 42"
    ]


@pytest.mark.parametrize("style", MARKUP_STYLES)
@settings(deadline=None)
@given(trace=traces)
def test_rendering_round_trips_or_raises(style: MarkupStyle, trace: Trace) -> None:
    try:
        completion = render_completion(trace, style)
    except DataError:
        assert style == "boxed" or any(
            reserved_markup_in(text, style) for text in [*step_contents(trace), trace.final_answer]
        )
        return
    parsed = parse_completion(completion.text, style)
    assert parsed.answer == trace.final_answer
    assert list(parsed.steps) == step_contents(trace)


@pytest.mark.parametrize(
    ("style", "step", "answer"),
    [
        ("reasoning", "so </reasoning> it is", "42"),
        ("reasoning", "fine", "<answer>42</answer>"),
        ("think", "fine", "42</think>"),
        ("boxed", "thus \\boxed{42}", "42"),
        ("boxed", "fine", "{42"),
        ("boxed", "fine", "}42{"),
        ("boxed", "fine", "{42\\}"),
        ("boxed", "fine", "42\\"),
        ("hash", "#### 41", "42"),
    ],
)
def test_content_with_markup_is_rejected(style: MarkupStyle, step: str, answer: str) -> None:
    with pytest.raises(DataError, match=r"markup|braces"):
        render_completion(trace_from_text_steps("q", [step], answer), style)


def test_error_names_step_and_markup() -> None:
    trace = trace_from_text_steps("q", ["fine", "bad <answer>"], "1")
    with pytest.raises(DataError, match=r"Step 1 contains '<answer>'"):
        render_completion(trace)


@pytest.mark.parametrize("answer", [r"\frac{1}{2}", r"\{1, 2\}", r"x \}", r"a \\"])
def test_boxed_answer_allows_balanced_braces(answer: str) -> None:
    completion = render_completion(trace_from_text_steps("q", ["half"], answer), "boxed")
    assert parse_completion(completion.text, "boxed").answer == answer


@pytest.mark.parametrize("text", [r"a\boxed{1\}", "a\\boxed{1} or }", "a\\boxed{{1}"])
def test_unbalanced_box_is_rejected(text: str) -> None:
    with pytest.raises(DataError, match="braces"):
        parse_completion(text, "boxed")


@pytest.mark.parametrize(
    "text",
    [
        "42",
        "<reasoning>a</reasoning>",
        "<reasoning></reasoning><answer>42</answer>",
        "<reasoning>a</reasoning><answer> </answer>",
        "<reasoning>a</reasoning><answer>1</answer><answer>2</answer>",
        "<reasoning>a</reasoning><answer>1</answer> and so on",
        "Sure! <reasoning>a</reasoning><answer>1</answer>",
    ],
)
def test_malformed_completion_is_rejected(text: str) -> None:
    with pytest.raises(DataError, match="well-formed"):
        parse_completion(text)


def test_whitespace_around_tags_is_accepted() -> None:
    parsed = parse_completion("\n<reasoning> a \n\n b</reasoning>\n\n<answer>\n7\n</answer>\n")
    assert parsed.steps == ("a", "b")
    assert parsed.answer == "7"


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        ("(1/2) a\n(2/2) b", ("a", "b")),
        ("  (1/2)  a\n\n  (2/2) b", ("a", "b")),
        ("(1/2) a\nand so on\n(2/2) b", ("a", "and so on", "b")),
        ("(1/2) a\n(1/2) b\n(2/2) c", ("a", "(1/2) b", "c")),
        ("(1/1) (1/2) of it", ("(1/2) of it",)),
    ],
)
def test_only_expected_counters_are_stripped(work: str, steps: tuple[str, ...]) -> None:
    text = f"<reasoning>\n{work}\n</reasoning>\n<answer>7</answer>"
    assert parse_completion(text, "counted").steps == steps


@pytest.mark.parametrize(
    "work", ["a", "(2/2) a", "1. a", "(1/1)", "a\n(1/1) b", "(1/2) a", "(1/2) a\n(2/3) b", "(1/0) a"]
)
def test_miscounted_steps_are_rejected(work: str) -> None:
    text = f"<reasoning>\n{work}\n</reasoning>\n<answer>7</answer>"
    assert parse_completion(text).answer == "7"
    with pytest.raises(DataError, match="not counted"):
        parse_completion(text, "counted")


def test_completion_becomes_assistant_message() -> None:
    assert [message["role"] for message in chat_messages("q")] == ["user"]
    assert chat_messages("q", "a")[-1] == {"role": "assistant", "content": "a"}
