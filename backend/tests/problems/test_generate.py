"""The generators are reproducible, distinct and correct."""

import re
import subprocess
import sys
from fractions import Fraction

import pytest

from tunix_rt.base.errors import InvalidInputError
from tunix_rt.problems.family import SeededRandom, derived_seed
from tunix_rt.problems.generate import FAMILIES, generate
from tunix_rt.traces.linter.findings import CODES
from tunix_rt.traces.linter.linter import lint_trace
from tunix_rt.traces.types import Trace, canonical_json, normalised_prompt, trace_id

NUM_PER_FAMILY = 12
# Typical template errors: "a apple", "1 hours", "the the", double spaces and float artefacts.
SLOPPY = re.compile(
    r"\ba [aeio]\w|\b1 (?:hours|days|weeks|friends|feet|inches)\b|\b(\w+) \1\b|  |\d\.\d{5,}|"
    r"\$\d+\.\d(?!\d)|\bNone\b",
    re.IGNORECASE,
)
# Their questions repeat a word or name a set A.
REPEATS_ON_PURPOSE = {"repeat_word", "count_word", "truth_value", "set_operation"}


def traces_of(family: str) -> list[Trace]:
    return list(generate([family], NUM_PER_FAMILY, seed=11))


def test_seeded_random_is_portable() -> None:
    rng = SeededRandom(derived_seed(1, "family", 0))
    assert [rng.randint(1, 100) for _ in range(5)] == [7, 9, 97, 87, 19]
    assert rng.shuffled("abcdef") == ["c", "d", "f", "e", "a", "b"]


def test_same_seed_reproduces_across_processes() -> None:
    code = (
        "from tunix_rt.problems.generate import generate; from tunix_rt.traces.types import *; "
        "print(trace_id(''.join(canonical_json(t) for t in generate(None, 226, 5))))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = trace_id("".join(canonical_json(trace) for trace in generate(None, 226, 5)))
    assert other.stdout.strip() == str(here)


def test_different_seeds_give_different_traces() -> None:
    first, second = (list(generate(None, 113, seed)) for seed in (1, 2))
    assert first != second


def test_prompts_are_distinct() -> None:
    prompts = [normalised_prompt(trace.prompt) for trace in generate(None, 1_500, seed=3)]
    assert len(set(prompts)) == len(prompts)


def test_families_alternate_in_order() -> None:
    names = [trace.meta["generator"] for trace in generate(["mean", "median"], 4, seed=1)]
    assert names == ["mean", "median", "mean", "median"]


def test_trace_records_its_origin() -> None:
    (trace,) = generate(["long_division"], 1, seed=9, source="mine")
    assert trace.meta == {
        "source": "mine",
        "category": "reasoning",
        "topic": "arithmetic",
        "generator": "long_division",
        "difficulty": "medium",
        "seed": 9,
        "index": 0,
    }


def test_exhausted_family_reports_prompt_count() -> None:
    with pytest.raises(InvalidInputError, match=r"only \d+ distinct prompts, not 500"):
        list(generate(["palindrome"], 500, seed=1))


def test_unknown_family_suggests_nearest() -> None:
    with pytest.raises(InvalidInputError, match="Did you mean column_addition"):
        generate(["colum_addition"], 1, seed=1)


def test_zero_traces_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match="at least 1"):
        generate(None, 0, seed=1)


def test_families_cover_many_topics() -> None:
    assert len(FAMILIES) >= 100
    assert len({family.topic for family in FAMILIES.values()}) >= 12


@pytest.mark.parametrize("family", FAMILIES)
def test_family_passes_trace_linter(family: str) -> None:
    for trace in traces_of(family):
        errors = [f for f in lint_trace(trace).findings if CODES[f.code].severity == "error"]
        assert errors == [], trace.prompt


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - REPEATS_ON_PURPOSE))
def test_family_reads_as_clean_english(family: str) -> None:
    for trace in traces_of(family):
        for text in (trace.prompt, *(step.content for step in trace.steps), trace.final_answer):
            assert not SLOPPY.search(text), text


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_contain_final_answer(family: str) -> None:
    for trace in traces_of(family):
        steps_text = "\n".join(step.content for step in trace.steps)
        assert trace.final_answer.casefold() in steps_text.casefold(), trace.prompt


def _numbers(text: str) -> list[Fraction]:
    return [Fraction(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_quotient_and_remainder_are_correct() -> None:
    for trace in traces_of("long_division"):
        dividend, divisor = _numbers(trace.prompt)[:2]
        quotient, remainder = _numbers(trace.final_answer)
        assert quotient * divisor + remainder == dividend
        assert remainder < divisor


def test_sums_and_products_are_correct() -> None:
    for trace in traces_of("column_addition"):
        assert sum(_numbers(trace.prompt)) == int(trace.final_answer)
    for trace in traces_of("partial_products"):
        left, right = _numbers(trace.prompt)[:2]
        assert left * right == int(trace.final_answer)


def test_binary_numbers_are_correct() -> None:
    for trace in traces_of("to_binary"):
        assert int(trace.final_answer, base=2) == _numbers(trace.prompt)[0]


def test_date_differences_are_correct() -> None:
    from datetime import datetime

    for trace in traces_of("days_between"):
        dates = re.findall(r"[A-Z][a-z]+ \d+, 2023", trace.prompt)
        first, second = (datetime.strptime(text, "%B %d, %Y") for text in dates)
        assert abs((second - first).days) == int(trace.final_answer)
