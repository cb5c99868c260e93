from collections import Counter

from support.builders import make_trace
from support.datasets import stored

from tunix_rt.datasets.rows import MAX_NAMES, distribution, most_common, parse_row, split_statistics
from tunix_rt.datasets.types import SplitStatistics
from tunix_rt.traces.types import Trace


def statistics_of(*traces: Trace) -> SplitStatistics:
    return split_statistics(parse_row(stored(trace))[0] for trace in traces)


def test_distribution_uses_observed_values() -> None:
    spread = distribution({2: 1, 4: 3})
    assert spread is not None
    assert (spread.mean, spread.p50, spread.p95, spread.max) == (3.5, 4, 4, 4)


def test_p95_leaves_five_percent_above() -> None:
    spread = distribution({value: 1 for value in range(1, 101)})
    assert spread is not None
    assert (spread.p50, spread.p95, spread.max) == (50, 95, 100)


def test_empty_input_has_no_distribution() -> None:
    assert distribution({}) is None
    assert statistics_of().steps is None


def test_question_spellings_count_once() -> None:
    statistics = statistics_of(make_trace("What is it?"), make_trace(" what IS  it?", ["other"]))
    assert (statistics.num_rows, statistics.num_prompts) == (2, 1)
    assert statistics.num_prompts_with_several_answers == 0


def test_chars_cover_prompt_steps_and_answer() -> None:
    statistics = statistics_of(make_trace("12345", ["123", "12"], "1"))
    assert statistics.chars is not None
    assert statistics.chars.max == 11


def test_missing_labels_count_as_unknown() -> None:
    statistics = statistics_of(
        make_trace("a?", category="algebra", difficulty=3),
        make_trace("b?", category="algebra"),
        make_trace("c?", category=["not", "scalar"], source=None),
    )
    assert statistics.categories == {"algebra": 2, "unknown": 1}
    assert statistics.difficulties == {"unknown": 2, "3": 1}
    assert statistics.sources == {"unknown": 3}


def test_rare_names_are_grouped() -> None:
    counts = most_common(Counter({f"name {n:03}": 1 for n in range(MAX_NAMES + 7)}))
    assert len(counts) == MAX_NAMES + 1
    assert counts["(other)"] == 7
