from pathlib import Path

import pytest
from support.builders import make_trace
from support.datasets import build, evalset, stored, sums

from tunix_rt.base.errors import DataError
from tunix_rt.datasets.contamination import ContaminationChecker, load_evalsets
from tunix_rt.datasets.rows import question_of

LONG = (
    "A farmer in the north of Spain keeps 14 brown goats and 23 white sheep on a hill, and every morning "
    "she leads half of the goats down to the river before the sheep wake up. How many animals stay behind?"
)


def kind_of_match(asked: str, trained: str) -> str | None:
    match = ContaminationChecker([evalset(asked)]).match(question_of(trained))
    return match.kind if match else None


@pytest.mark.parametrize(
    ("asked", "trained", "kind"),
    [
        ("What is 2 + 3?", "what is  2 + 3?", "same-question"),
        ("What is 2 + 3?", "What is 2 + 3", "near-duplicate"),
        (LONG, LONG.replace("wake up", "get up"), "near-duplicate"),
        (LONG, f"Solve this with care and show your work, please. {LONG} Thank you!", "contained"),
        ("What is 2 + 3?", "What is 2 - 3?", None),
        ("What is 2 + 3?", "What is 3 + 2?", None),
        (LONG, LONG.replace("14", "15").replace("23", "32"), None),
        (LONG, "Something else entirely.", None),
    ],
)
def test_similar_questions_match_eval_item(asked: str, trained: str, kind: str | None) -> None:
    assert kind_of_match(asked, trained) == kind


def test_shared_instruction_does_not_match() -> None:
    instruction = "You are an assistant that solves school problems step by step and ends with one answer. "
    asked = (
        instruction + "Anna reads 12 pages of her new book every evening of the week; how many pages is that?"
    )
    trained = (
        instruction + "A train of 9 wagons carries 40 people in each wagon; how many people are on board?"
    )
    assert kind_of_match(asked, trained) is None


def test_overlap_refuses_build(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 rows repeat.*exam/exam-0") as caught:
        build(tmp_path, sums(5), evalsets=[evalset("What is 3 + 7?")])
    assert "--remove-contaminated" in caught.value.next_step
    assert not (tmp_path / "datasets/demo-v1").exists()


def test_allowed_overlap_is_reported(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(5), evalsets=[evalset("What is 3 + 7?")], allow_contamination=True)
    report = outcome.manifest.contamination
    assert (report.verdict, report.num_overlapping_rows, outcome.trace_count) == ("allowed", 1, 5)
    assert report.overlaps[0].item_id == "exam-0"


def test_removed_overlap_is_reported(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(5), evalsets=[evalset("What is 3 + 7?")], remove_contaminated=True)
    assert (outcome.manifest.contamination.verdict, outcome.trace_count) == ("removed", 4)
    assert [(entry.reason, entry.num_rows) for entry in outcome.manifest.removed] == [("contaminated", 1)]


def test_unselected_overlap_is_ignored(tmp_path: Path) -> None:
    old = stored(make_trace("What is 3 + 7?"), age_hours=5)
    outcome = build(tmp_path, [old, *sums(1)], evalsets=[evalset("What is 3 + 7?")], limit=1)
    assert outcome.manifest.contamination.verdict == "clean"


def test_shipped_and_own_eval_sets_load(tmp_path: Path) -> None:
    own = tmp_path / "mine.jsonl"
    own.write_text(
        '{"id":"m1","prompt":"How tall is it?","expected_answer":"3","section":"core",'
        '"category":"c","difficulty":"easy"}\n'
    )
    names = [loaded.name for loaded in load_evalsets(tmp_path)]
    assert "mine" in names
    assert len(names) > 1


def test_invalid_eval_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match="mine"):
        load_evalsets(tmp_path)
