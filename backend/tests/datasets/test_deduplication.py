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


def test_the_same_solution_with_other_meta_data_is_an_exact_duplicate(tmp_path: Path) -> None:
    copies = [make_trace(source=name) for name in ("a", "b", "c")]
    assert removed(tmp_path, *copies, dedup="exact") == {"exact-duplicate": 2}


def test_two_solutions_of_one_question_both_stay(tmp_path: Path) -> None:
    assert removed(tmp_path, make_trace(), make_trace(steps=["count: 3, 4, 5"]), dedup="exact") == {}


def test_without_deduplication_everything_stays(tmp_path: Path) -> None:
    assert removed(tmp_path, make_trace(source="a"), make_trace(source="b"), dedup="none") == {}


def test_a_reworded_copy_is_a_near_duplicate(tmp_path: Path) -> None:
    reworded = story(wording=STORY.replace("altogether", "in total"))
    assert removed(tmp_path, story(), reworded, dedup="near") == {"near-duplicate": 1}


def test_a_reworded_copy_is_not_an_exact_duplicate(tmp_path: Path) -> None:
    reworded = story(wording=STORY.replace("altogether", "in total"))
    assert removed(tmp_path, story(), reworded, dedup="exact") == {}


def test_the_same_story_with_other_numbers_is_another_question(tmp_path: Path) -> None:
    assert removed(tmp_path, story(48), story(46), dedup="near") == {}


def test_the_same_numbers_in_another_order_are_another_question(tmp_path: Path) -> None:
    wording = (
        "Tom has {} red marbles and {} blue marbles in his big old wooden box. Who knows what is inside?"
    )
    pair = [make_trace(wording.format(*order), ["We look inside."], "Tom") for order in ((3, 5), (5, 3))]
    assert removed(tmp_path, *pair, dedup="near") == {}


def test_another_answer_is_never_a_duplicate(tmp_path: Path) -> None:
    assert removed(tmp_path, story(answer="yes"), story(answer="no"), dedup="near") == {}


def test_another_operator_is_another_question(tmp_path: Path) -> None:
    pair = [make_trace(f"What is 12 {sign} 30?", ["We think."], "x") for sign in "+-"]
    assert removed(tmp_path, *pair, dedup="near") == {}


def test_the_report_names_the_row_that_stayed(tmp_path: Path) -> None:
    rows = [stored(story()), stored(story(step="half of that"))]
    outcome = build(tmp_path, rows, dedup="near")
    pair = outcome.manifest.removed[0].examples[0]
    kept, gone = sorted(rows, key=lambda row: row.id)
    assert (pair.trace_id, pair.because_of) == (gone.id, str(kept.id))
    assert 0.8 <= pair.similarity < 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_minhash_finds_what_exact_comparison_finds(seed: int) -> None:
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
def test_the_bands_miss_less_than_one_pair_in_a_thousand(threshold: float) -> None:
    bands = num_bands(threshold)
    rows_per_band = 128 // bands
    assert (1 - threshold**rows_per_band) ** bands < 1e-3


PALINDROME = "Is the word {word} spelled the same forwards and backwards, or is it not a palindrome at all?"


def palindrome(word: str, question: str = PALINDROME) -> Trace:
    steps = [f"We read {word} from the end and compare it with the start of the word.", "They differ."]
    return make_trace(question.format(word=word), steps, "no")


def test_hundreds_of_rows_of_one_template_stay_and_do_not_hang(tmp_path: Path) -> None:
    rows = [stored(palindrome(f"{a}{b}xyz")) for a in ascii_lowercase for b in ascii_lowercase]
    started = time.process_time()
    outcome = build(tmp_path, rows, dedup="near")
    assert outcome.trace_count == 26 * 26
    assert time.process_time() - started < 60  # comparing every pair takes far longer


def test_a_copy_among_many_rows_of_one_template_is_found(tmp_path: Path) -> None:
    rows = [stored(palindrome(f"{a}{b}xyz")) for a in ascii_lowercase for b in ascii_lowercase]
    copies = [
        stored(palindrome(word, PALINDROME.replace("at all", "ever"))) for word in ("aaxyz", "zzxyz", "mmxyz")
    ]
    outcome = build(tmp_path, [*rows, *copies], dedup="near")
    assert outcome.trace_count == len(rows)


def test_many_variations_of_one_text_leave_one(tmp_path: Path) -> None:
    rows = [
        stored(story(step=f"half of {noun}it"))
        for noun in (f"{a}{b} " for a in "abcdefgh" for b in "abcdefgh")
    ]
    assert build(tmp_path, rows, dedup="near").trace_count == 1
