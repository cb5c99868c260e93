import json
import random
from datetime import UTC
from pathlib import Path

import pytest
from support.builders import make_trace
from support.datasets import build, stored, sums

from tunix_rt.base.errors import ConflictError, DataError, NotFoundError
from tunix_rt.datasets.types import DatasetManifest
from tunix_rt.traces.types import Trace, normalised_prompt

HALVES = {"train": 0.5, "validation": 0.5}


def prompts(home: Path, split: str, key: str = "demo-v1") -> list[str]:
    lines = (home / "datasets" / key / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["prompt"] for line in lines]


def test_build_writes_rows_card_and_manifest(tmp_path: Path) -> None:
    rows = sums(30)
    outcome = build(tmp_path, rows, splits=HALVES)
    folder = tmp_path / "datasets" / "demo-v1"
    assert {path.name for path in folder.iterdir()} == {
        "train.jsonl",
        "validation.jsonl",
        "README.md",
        "manifest.json",
    }
    lines = [line for split in HALVES for line in (folder / f"{split}.jsonl").read_text().splitlines()]
    assert sorted(lines) == sorted(row.canonical for row in rows)
    assert outcome.trace_count == 30


def test_manifest_on_disk_matches_outcome(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(5))
    text = (tmp_path / "datasets/demo-v1/manifest.json").read_text(encoding="utf-8")
    assert DatasetManifest.model_validate_json(text) == outcome.manifest
    assert "null" not in text
    assert outcome.manifest.created_at.tzinfo == UTC


def test_rows_are_sorted_by_id(tmp_path: Path) -> None:
    rows = sums(20)
    random.Random(0).shuffle(rows)
    build(tmp_path, rows)
    lines = (tmp_path / "datasets/demo-v1/train.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == [row.canonical for row in sorted(rows, key=lambda row: row.id)]


def test_content_hash_ignores_row_order(tmp_path: Path) -> None:
    rows = sums(40)
    hashes = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        outcome = build(tmp_path / str(seed), rows, splits=HALVES, dedup="near", limit=25)
        hashes.add(outcome.manifest.content_hash)
    assert len(hashes) == 1


def test_rebuild_of_same_content_is_unchanged(tmp_path: Path) -> None:
    first = build(tmp_path, sums(5))
    before = (tmp_path / "datasets/demo-v1/manifest.json").stat().st_mtime_ns
    second = build(tmp_path, sums(5))
    assert (first.status, second.status) == ("created", "unchanged")
    assert (tmp_path / "datasets/demo-v1/manifest.json").stat().st_mtime_ns == before


def test_conflicting_rebuild_keeps_old_dataset(tmp_path: Path) -> None:
    first = build(tmp_path, sums(5))
    with pytest.raises(ConflictError, match="another version"):
        build(tmp_path, sums(6))
    manifest = (tmp_path / "datasets/demo-v1/manifest.json").read_text(encoding="utf-8")
    assert DatasetManifest.model_validate_json(manifest) == first.manifest


def test_failed_builds_leave_no_files(tmp_path: Path) -> None:
    build(tmp_path, sums(5))
    with pytest.raises(ConflictError):
        build(tmp_path, sums(6))
    with pytest.raises(DataError):
        build(tmp_path, [], dataset_name="empty")
    visible = {path.name for path in (tmp_path / "datasets").iterdir()}
    assert visible == {"demo-v1", ".build.lock"}


def test_splits_share_no_question(tmp_path: Path) -> None:
    rows = [
        stored(make_trace(f"{space}What is {n} + 1?", ["count up"] * copies, str(n + 1)))
        for n in range(60)
        for copies, space in ((1, ""), (2, "  "), (3, "\n"))
    ]
    build(tmp_path, rows, splits=HALVES)
    questions = [{normalised_prompt(prompt) for prompt in prompts(tmp_path, split)} for split in HALVES]
    assert not questions[0] & questions[1]
    assert all(questions)


def test_empty_selection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No stored trace matches"):
        build(tmp_path, [])


def test_empty_split_adds_warning(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(1, first=3), splits={"train": 0.999, "validation": 0.001})
    assert any("'validation' is empty" in warning for warning in outcome.manifest.warnings)


def test_disagreeing_answers_add_warning(tmp_path: Path) -> None:
    rows = [stored(make_trace(final_answer="5")), stored(make_trace(final_answer="6"))]
    outcome = build(tmp_path, rows)
    assert outcome.manifest.splits[0].statistics.num_prompts_with_several_answers == 1
    assert any("disagree" in warning for warning in outcome.manifest.warnings)


def test_limit_keeps_newest_rows(tmp_path: Path) -> None:
    rows = [stored(make_trace(f"Question {age}?"), age_hours=age) for age in range(10)]
    build(tmp_path, rows, limit=3)
    assert sorted(prompts(tmp_path, "train")) == ["Question 0?", "Question 1?", "Question 2?"]


def test_random_selection_depends_on_seed(tmp_path: Path) -> None:
    chosen = {
        label: build(
            tmp_path / label, sums(50), limit=10, selection_strategy="random", seed=seed
        ).manifest.content_hash
        for label, seed in (("a", 1), ("b", 1), ("c", 2))
    }
    assert chosen["a"] == chosen["b"] != chosen["c"]


def test_max_per_prompt_limits_solutions(tmp_path: Path) -> None:
    rows = [stored(make_trace(steps=[f"way {n}", "2 + 3 = 5"])) for n in range(5)]
    outcome = build(tmp_path, rows, max_per_prompt=2)
    assert outcome.trace_count == 2
    assert [(entry.reason, entry.num_rows) for entry in outcome.manifest.removed] == [("max-per-prompt", 3)]


def test_parent_is_recorded_with_hash(tmp_path: Path) -> None:
    parent = build(tmp_path, sums(3))
    child = build(tmp_path, sums(4), dataset_version="v2", parent_dataset_key="demo-v1")
    assert child.manifest.lineage.parent is not None
    assert child.manifest.lineage.parent.content_hash == parent.manifest.content_hash


def test_unknown_parent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere-v1"):
        build(tmp_path, sums(3), parent_dataset_key="nowhere-v1")


def test_statistics_include_scores(tmp_path: Path) -> None:
    rows = [stored(make_trace(f"Question {n}?"), score=float(n)) for n in (10, 20, 60)]
    statistics = build(tmp_path, rows).manifest.splits[0].statistics
    assert statistics.score is not None
    assert (statistics.score.mean, statistics.score.p50, statistics.num_scored) == (30.0, 20.0, 3)


def test_row_counts_add_up(tmp_path: Path) -> None:
    repeated = [stored(make_trace("What is 3 + 7?", ["3 + 7 = 10"], "10", copy=n)) for n in range(3)]
    manifest = build(tmp_path, [*sums(10), *repeated], limit=8).manifest
    num_removed = sum(entry.num_rows for entry in manifest.removed)
    assert manifest.num_considered == manifest.num_rows + num_removed == 13


def test_card_has_hub_header_and_hash(tmp_path: Path) -> None:
    outcome = build(tmp_path, sums(5), license="apache-2.0")
    card = (tmp_path / "datasets/demo-v1/README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: apache-2.0\n")
    assert "  - split: train\n    path: train.jsonl\n" in card
    assert outcome.manifest.content_hash in card


def test_unusual_unicode_is_preserved(tmp_path: Path) -> None:
    trace = make_trace("Zeile\u2028Trenner\x85 \u00a0 und 🍎?", ["l’étape\u2029 un"], "ja")
    build(tmp_path, [stored(trace)])
    data = (tmp_path / "datasets/demo-v1/train.jsonl").read_bytes()
    assert data.count(b"\n") == 1
    assert Trace.model_validate_json(data) == trace
