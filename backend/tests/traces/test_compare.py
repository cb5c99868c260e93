from support.builders import make_trace

from tunix_rt.traces.service import align_steps, compare_traces


def step_kinds(base: list[str], other: list[str]) -> list[str]:
    lines = align_steps(make_trace(steps=base).steps, make_trace(steps=other).steps)
    return [line.kind for line in lines]


def test_equal_traces_have_no_difference() -> None:
    comparison = compare_traces(make_trace(), make_trace())
    assert comparison.first_difference is None
    assert comparison.num_same_steps == 1
    assert comparison.same_answer


def test_inserted_step_keeps_rest_aligned() -> None:
    base = ["add 2 and 3", "the sum is 5", "check: 5 - 3 = 2"]
    other = ["add 2 and 3", "carry nothing over", "the sum is 5", "check: 5 - 3 = 2"]
    assert step_kinds(base, other) == ["same", "added", "same", "same"]


def test_reworded_step_pairs_with_original() -> None:
    base = ["Tom has 4 red apples", "so he pays 8 dollars"]
    other = ["Tom has 5 red apples", "an unrelated remark here", "so he pays 8 dollars"]
    lines = align_steps(make_trace(steps=base).steps, make_trace(steps=other).steps)
    assert [line.kind for line in lines] == ["changed", "added", "same"]
    assert lines[0].other is not None
    assert lines[0].other.content == "Tom has 5 red apples"


def test_first_difference_is_located() -> None:
    comparison = compare_traces(
        make_trace(steps=["a b", "c d"]), make_trace(steps=["a b", "x y"], final_answer="6")
    )
    assert comparison.first_difference == 1
    assert not comparison.same_answer


def test_alignment_keeps_every_step_in_order() -> None:
    base = [f"step number {i} of left" for i in range(0, 40, 2)]
    other = [f"step number {i} of right" for i in range(0, 40, 3)]
    lines = align_steps(make_trace(steps=base).steps, make_trace(steps=other).steps)
    assert [line.base.content for line in lines if line.base] == base
    assert [line.other.content for line in lines if line.other] == other


def test_thousand_different_steps_are_aligned() -> None:
    lines = align_steps(
        make_trace(steps=[f"l{i}" for i in range(1000)]).steps,
        make_trace(steps=[f"r{i}" for i in range(1000)]).steps,
    )
    assert len(lines) == 1000
