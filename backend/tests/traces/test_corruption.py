"""`corrupt` makes one step wrong, and changes later steps only with `propagate`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunix_rt.traces.corruption import KINDS, Corruption, NothingToCorruptError, corrupt
from tunix_rt.traces.formats.converters import without_annotations
from tunix_rt.traces.linter.claims import read_step
from tunix_rt.traces.types import CorruptionKind, Trace, trace_from_text_steps

PROMPT = "A shop has 4 shelves with 125 jars each, sells 60 jars and packs the rest in boxes of 8."
ANNOTATED = trace_from_text_steps(
    PROMPT,
    [
        "The shop has 4 * 125 = <<4*125=500>>500 jars.",
        "After the sale 500 - 60 = <<500-60=440>>440 jars are left.",
        "They fill 440 / 8 = <<440/8=55>>55 boxes.",
    ],
    "55",
)
PROSE = ANNOTATED.model_copy(
    update={
        "steps": tuple(
            step.model_copy(update={"content": without_annotations(step.content)}) for step in ANNOTATED.steps
        )
    }
)
BOTH_FORMS = pytest.mark.parametrize("trace", [ANNOTATED, PROSE], ids=["annotated", "prose"])


def changed_steps(before: Trace, after: Trace) -> list[int]:
    return [old.i for old, new in zip(before.steps, after.steps, strict=True) if old != new]


def wrong_steps(trace: Trace) -> list[int]:
    return [
        step.i for step in trace.steps if any(c.verdict == "wrong" for c in read_step(step.content).claims)
    ]


def corrupt_first_step(
    trace: Trace, *, kind: CorruptionKind | None = None, propagate: bool = False
) -> Corruption:
    """The corruption of the first seed that chooses step 0."""
    corruptions = (corrupt(trace, seed, kind=kind, propagate=propagate) for seed in range(50))
    return next(corruption for corruption in corruptions if corruption.step == 0)


@BOTH_FORMS
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_changes_one_step(trace: Trace, kind: CorruptionKind) -> None:
    corruption = corrupt(trace, 1, kind=kind)
    assert corruption.kind == kind
    assert changed_steps(trace, corruption.trace) == [corruption.step]
    assert corruption.trace.final_answer == "55"


@BOTH_FORMS
def test_propagation_leaves_one_wrong_step(trace: Trace) -> None:
    corruption = corrupt_first_step(trace, propagate=True)
    assert wrong_steps(corruption.trace) == [0]
    assert changed_steps(trace, corruption.trace) == [0, 1, 2]
    assert corruption.trace.final_answer != "55"


def test_plus_one_updates_annotation_and_prose() -> None:
    corruption = corrupt_first_step(ANNOTATED, kind="plus-1")
    assert corruption.trace.steps[0].content == "The shop has 4 * 125 = <<4*125=501>>501 jars."
    assert (corruption.original, corruption.replaced, corruption.is_propagated) == ("500", "501", False)


def test_propagation_rewrites_later_results() -> None:
    corruption = corrupt_first_step(ANNOTATED, kind="minus-10", propagate=True)
    assert [step.content for step in corruption.trace.steps] == [
        "The shop has 4 * 125 = <<4*125=490>>490 jars.",
        "After the sale 490 - 60 = <<490-60=430>>430 jars are left.",
        "They fill 430 / 8 = <<430/8=53.75>>53.75 boxes.",
    ]
    assert corruption.trace.final_answer == "53.75"


def test_number_format_is_preserved() -> None:
    trace = trace_from_text_steps("p", ["It costs 3 * $1,250.50 = $3,751.50."], "3751.50")
    assert corrupt(trace, 0, kind="plus-1").trace.steps[0].content == "It costs 3 * $1,250.50 = $3,752.50."


def test_seed_determines_corruption() -> None:
    assert corrupt(ANNOTATED, 7) == corrupt(ANNOTATED, 7)
    different = {(c.step, c.replaced) for c in (corrupt(ANNOTATED, seed) for seed in range(20))}
    assert len(different) > 5


def test_every_step_can_be_corrupted() -> None:
    assert {corrupt(ANNOTATED, seed).step for seed in range(60)} == {0, 1, 2}


def test_trace_without_results_is_rejected() -> None:
    trace = trace_from_text_steps("Capital of France?", ["It is Paris."], "Paris")
    with pytest.raises(NothingToCorruptError, match="no step states a result"):
        corrupt(trace, 0)


def test_corruption_avoids_valid_roundings() -> None:
    trace = trace_from_text_steps("p", ["100 / 6 = 16"], "16")
    assert all(corrupt(trace, seed).replaced not in ("16", "17") for seed in range(100))


NUMBERS = st.integers(min_value=1, max_value=9999)


@st.composite
def worked_traces(draw: st.DrawFn) -> Trace:
    """A chain of calculations, each of which uses the previous result, with or without annotations."""
    value = draw(NUMBERS)
    is_annotated = draw(st.booleans())
    steps = []
    for operand in draw(st.lists(NUMBERS, min_size=1, max_size=4)):
        operator = draw(st.sampled_from("+*"))
        result = value + operand if operator == "+" else value * operand
        note = f"<<{value}{operator}{operand}={result}>>" if is_annotated else ""
        steps.append(f"Then {value} {operator} {operand} = {note}{result} jars.")
        value = result
    return trace_from_text_steps("How many jars?", steps, str(value))


@given(trace=worked_traces(), seed=st.integers(0, 10**6), propagate=st.booleans())
@settings(max_examples=200, deadline=None)
def test_first_changed_step_is_wrong(trace: Trace, seed: int, propagate: bool) -> None:
    corruption = corrupt(trace, seed, propagate=propagate)
    assert corruption.step in wrong_steps(corruption.trace)
    assert min(changed_steps(trace, corruption.trace)) == corruption.step
    assert corruption.original != corruption.replaced
