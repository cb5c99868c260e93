import random
import time
from pathlib import Path
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.builders import make_trace
from support.datasets import build, stored

from tunix_rt.datasets.dedup import NearDuplicateIndex, num_bands
from tunix_rt.datasets.rows import jaccard
from tunix_rt.traces.types import Trace

STORY = (
    "Natalia sold clips to {count} of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May?"
)


def story(
    count: int = 48, wording: str = STORY, answer: str | None = None, step: str = "half of it"
) -> Trace:
    return make_trace(
        wording.format(count=count),
        [f"In May she sold {step}: {count} / 2 = {count // 2} clips.", f"{count} + {count // 2} = 72 clips."],
        answer or "72",
    )


def removed(home: Path, *traces: Trace, dedup: str) -> dict[str, int]:
    outcome = build(home, [stored(trace) for trace in traces], dedup=dedup)
    return {entry.reason: entry.num_rows for entry in outcome.manifest.removed}


REWORDED = STORY.replace("altogether", "in total")
MARBLES = "Tom has {} red marbles and {} blue marbles in his big old wooden box. Who knows what is inside?"


@pytest.mark.parametrize(
    ("dedup", "traces", "expected"),
    [
        ("exact", [make_trace(source=name) for name in "abc"], {"exact-duplicate": 2}),
        ("near", [story(), story(wording=REWORDED)], {"near-duplicate": 1}),
    ],
    ids=["other metadata", "reworded copy"],
)
def test_duplicates_are_removed(
    tmp_path: Path, dedup: str, traces: list[Trace], expected: dict[str, int]
) -> None:
    assert removed(tmp_path, *traces, dedup=dedup) == expected


@pytest.mark.parametrize(
    ("dedup", "traces"),
    [
        ("none", [make_trace(source="a"), make_trace(source="b")]),
        ("exact", [make_trace(), make_trace(steps=["count: 3, 4, 5"])]),
        ("exact", [story(), story(wording=REWORDED)]),
        ("near", [story(48), story(46)]),
        (
            "near",
            [make_trace(MARBLES.format(*pair), ["We look inside."], "Tom") for pair in ((3, 5), (5, 3))],
        ),
        ("near", [story(answer="yes"), story(answer="no")]),
        ("near", [make_trace(f"What is 12 {sign} 30?", ["We think."], "x") for sign in "+-"]),
    ],
    ids=[
        "deduplication off",
        "two solutions",
        "reworded copy",
        "other numbers",
        "swapped numbers",
        "other answer",
        "other operator",
    ],
)
def test_distinct_traces_are_kept(tmp_path: Path, dedup: str, traces: list[Trace]) -> None:
    assert removed(tmp_path, *traces, dedup=dedup) == {}


def test_report_names_kept_row(tmp_path: Path) -> None:
    rows = [stored(story()), stored(story(step="half of that"))]
    outcome = build(tmp_path, rows, dedup="near")
    pair = outcome.manifest.removed[0].examples[0]
    kept, removed_row = sorted(rows, key=lambda row: row.id)
    assert (pair.trace_id, pair.because_of) == (removed_row.id, str(kept.id))
    assert 0.8 <= pair.similarity < 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_minhash_matches_exact_comparison(seed: int) -> None:
    rng = random.Random(seed)
    texts = [{f"word {rng.randrange(60)}" for _ in range(40)} for _ in range(40)]
    index = NearDuplicateIndex(0.5, texts.__getitem__)
    kept: list[int] = []
    for number, text in enumerate(texts):
        found = index.find_or_add(number, text)
        expected = next((other for other in kept if jaccard(text, texts[other]) >= 0.5), None)
        if expected is None:
            kept.append(number)
        assert (found and found[0]) == expected


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9, 1.0])
def test_bands_miss_few_pairs(threshold: float) -> None:
    bands = num_bands(threshold)
    rows_per_band = 128 // bands
    assert (1 - threshold**rows_per_band) ** bands < 1e-3


PALINDROME = "Is the word {word} spelled the same forwards and backwards, or is it not a palindrome at all?"


def palindrome(word: str, question: str = PALINDROME) -> Trace:
    steps = [f"We read {word} from the end and compare it with the start of the word.", "They differ."]
    return make_trace(question.format(word=word), steps, "no")


def test_template_rows_are_kept_quickly(tmp_path: Path) -> None:
    rows = [stored(palindrome(f"{a}{b}xyz")) for a in ascii_lowercase for b in ascii_lowercase]
    started = time.process_time()
    outcome = build(tmp_path, rows, dedup="near")
    assert outcome.trace_count == 26 * 26
    assert time.process_time() - started < 60  # Comparing every pair takes far longer.


def test_copies_among_template_rows_are_found(tmp_path: Path) -> None:
    rows = [stored(palindrome(f"{a}{b}xyz")) for a in ascii_lowercase for b in ascii_lowercase]
    copies = [
        stored(palindrome(word, PALINDROME.replace("at all", "ever"))) for word in ("aaxyz", "zzxyz", "mmxyz")
    ]
    outcome = build(tmp_path, [*rows, *copies], dedup="near")
    assert outcome.trace_count == len(rows)


def test_variations_of_one_text_collapse(tmp_path: Path) -> None:
    rows = [
        stored(story(step=f"half of {noun}it"))
        for noun in (f"{a}{b} " for a in "abcdefgh" for b in "abcdefgh")
    ]
    assert build(tmp_path, rows, dedup="near").trace_count == 1
