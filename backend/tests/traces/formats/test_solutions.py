import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.traces.formats.solutions import RowError, solution_with_reasoning, split_solution, split_steps

SOLUTION_CASES = [
    ("<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>", ["6*7=42"], "42", "tags"),
    ("<think>six sevens</think>\n<answer>42</answer>", ["six sevens"], "42", "tags"),
    ("six sevens are 42\n<answer> 42 </answer>", ["six sevens are 42"], "42", "tags"),
    ("<answer>42</answer>", ["42"], "42", "tags"),
    ("<think>\n6*7=42\n</think>\n\nIt is 42", ["6*7=42"], "It is 42", "think"),
    ("<think>\na\n</think>\n\nline one\nline two", ["a"], "line one\nline two", "think"),
    (
        "<think>a</think>So \\boxed{42} it is.",
        ["a", "So \\boxed{42} it is."],
        "42",
        "think+boxed",
    ),
    ("a\n</think>\n\n7", ["a"], "7", "think"),
    ("Half of 4 is \\boxed{\\frac{4}{2}}", ["Half of 4 is \\boxed{\\frac{4}{2}}"], "\\frac{4}{2}", "boxed"),
    ("\\boxed{1}\nno, \\boxed{\\{2\\}}", ["\\boxed{1}", "no, \\boxed{\\{2\\}}"], "\\{2\\}", "boxed"),
    ("6*7=42\n#### 42\n", ["6*7=42"], "42", "hash"),
    ("#### Step one\n6*7=42", ["#### Step one"], "6*7=42", "last_line"),
    ("6*7=42\nAnswer: 42", ["6*7=42"], "42", "answer_line"),
    ("6*7=42\n**Final Answer:** 42", ["6*7=42"], "42", "answer_line"),
    ("6*7=42\n**Final Answer**: **42**", ["6*7=42"], "42", "answer_line"),
    ("6*7=42\n### Final answer:\n\n42", ["6*7=42"], "42", "answer_line"),
    ("Answer: 42\nBecause 6*7=42", ["Because 6*7=42"], "42", "answer_line"),
    ("6*7=42\nSo the answer is 42.", ["6*7=42", "So the answer is 42."], "42", "answer_sentence"),
    ("The final answer is: 3.5", ["The final answer is: 3.5"], "3.5", "answer_sentence"),
    ("6*7=42\n42 apples", ["6*7=42"], "42 apples", "last_line"),
    ("42", ["42"], "42", "last_line"),
]


@pytest.mark.parametrize(("text", "steps", "answer", "rule"), SOLUTION_CASES)
def test_first_matching_rule_splits_solution(text: str, steps: list[str], answer: str, rule: str) -> None:
    solution = split_solution(text)
    assert (solution.steps, solution.final_answer, solution.rule) == (steps, answer, rule)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("  \n", "empty"),
        ("<think>and then", "never closed"),
        ("work\n<answer>4", "never closed"),
        ("<answer>4</answer> by the way", "would be lost"),
        ("<answer></answer>", "empty"),
        ("<answer>1</answer><answer>2</answer>", "more than one"),
        ("<think>a</think>b<think>c</think>d", "more than one"),
        ("<think>a</think>  ", "no reply"),
    ],
)
def test_malformed_solution_is_rejected(text: str, reason: str) -> None:
    with pytest.raises(RowError, match=reason):
        split_solution(text)


def test_separate_reasoning_precedes_reply() -> None:
    solution = solution_with_reasoning("a\nb", "c\n#### 7")
    assert (solution.steps, solution.final_answer, solution.rule) == (["a", "b", "c"], "7", "think+hash")


STEP_CASES = [
    ("a\nb", ["a", "b"]),
    ("a\nb\n\nc", ["a\nb", "c"]),
    ("1. a\n2. b", ["a", "b"]),
    ("Step 1: a\nstep 2 - b", ["a", "b"]),
    ("**Step 1:** a\n**Step 2:** b", ["a", "b"]),
    ("First:\n1) a\n   more\n2) b", ["First:", "a\n   more", "b"]),
    ("(1) a\n\n(2) b", ["a", "b"]),
    ("3.5 litres\n2 more", ["3.5 litres", "2 more"]),
    ("1. a\n7. not the second\n2. b", ["a\n7. not the second", "b"]),
    ("2. not a list\nb", ["2. not a list", "b"]),
]


@pytest.mark.parametrize(("text", "steps"), STEP_CASES)
def test_text_splits_into_steps(text: str, steps: list[str]) -> None:
    assert split_steps(text) == steps


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("a1 .\n\\{}#*<>/:boxedanswrthik"), max_size=80))
def test_any_text_splits_or_raises(text: str) -> None:
    try:
        solution = split_solution(text)
    except RowError:
        return
    assert solution.final_answer.strip()
    assert solution.steps
    assert all(step.strip() for step in solution.steps)


@settings(deadline=None)
@given(st.lists(st.text(alphabet=st.characters(categories=["L"]), min_size=1), min_size=1))
def test_unmarked_text_loses_no_words(words: list[str]) -> None:
    solution = split_solution("\n".join(words))
    assert {*" ".join(solution.steps).split(), *solution.final_answer.split()} == set(" ".join(words).split())


@pytest.mark.parametrize("text", ["**" * 10_000, "answer " * 10_000, "\\boxed{" * 5_000, "(1" * 10_000])
def test_hostile_text_is_split(text: str) -> None:
    assert split_solution(text).final_answer
