"""Datasets built from a real store, on both databases."""

from pathlib import Path
from typing import Any

import pytest
from support.builders import make_trace
from support.datasets import ALL_IN_TRAIN, add, build, jsonl, stored, sums

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.base.home import Home
from tunix_rt.datasets.build import build_from_store
from tunix_rt.datasets.diff import diff_datasets
from tunix_rt.datasets.files import iter_lines
from tunix_rt.datasets.ingest import ingest_file
from tunix_rt.datasets.service import ExportFormat, export_directory
from tunix_rt.datasets.types import DatasetSpec
from tunix_rt.traces.importer import ImportOptions
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter


def spec(**values: Any) -> DatasetSpec:
    return DatasetSpec.model_validate({"dataset_name": "demo", "splits": ALL_IN_TRAIN} | values)


def test_store_and_rows_build_same_dataset(store: Home, tmp_path: Path) -> None:
    rows = sums(50)
    add(store, rows)
    splits = {"train": 0.5, "validation": 0.5}
    from_store = build_from_store(store, spec(splits=splits))
    from_list = build(tmp_path / "other", rows, splits=splits)
    assert from_store.manifest.content_hash == from_list.manifest.content_hash
    assert from_store.trace_count == 50


def test_filters_select_rows(store: Home) -> None:
    add(store, sums(5))
    add(store, [stored(make_trace("Which one?", source="riddles", tags=["short", "odd"], level=2))])
    for number, filters in enumerate(
        ({"source": "riddles"}, {"labels": {"level": "2"}}, {"tags": ["odd"]}, {"query": "which"})
    ):
        outcome = build_from_store(store, spec(dataset_version=f"v{number}", filters=filters))
        assert outcome.trace_count == 1, filters


def test_score_filter_scores_traces_first(store: Home) -> None:
    right = make_trace("What is 4 + 5?", ["4 + 5 = 9"], "9")
    wrong = make_trace("What is 6 + 7?", ["6 + 7 = 14"], "14")
    add(store, [stored(right), stored(wrong)])
    clean = TraceFilter(without_codes=("arithmetic-wrong",))
    outcome = build_from_store(store, spec(filters=clean))
    assert outcome.trace_count == 1
    assert outcome.manifest.lineage.linter_version is not None
    assert outcome.manifest.splits[0].statistics.num_scored == 1


def test_deleting_trace_keeps_dataset(store: Home) -> None:
    rows = sums(3)
    add(store, rows)
    build_from_store(store, spec())
    TraceRepository(store.database).delete(rows[0].id)
    assert len(list(iter_lines(store.settings.datasets_dir, "demo-v1", "train"))) == 3
    with pytest.raises(ConflictError):
        build_from_store(store, spec())


def test_ingest_builds_dataset_of_file(store: Home, tmp_path: Path) -> None:
    add(store, sums(5))
    file = tmp_path / "new.jsonl"
    file.write_bytes(jsonl(make_trace("One?"), make_trace("Two?")))
    report = ingest_file(store, file, options=ImportOptions(), spec=spec())
    assert report.ingested_count == 2
    assert report.dataset is not None
    assert report.dataset.trace_count == 2
    again = ingest_file(store, file, options=ImportOptions(), spec=spec())
    assert again.dataset is not None
    assert (again.dataset.status, again.report.num_imported) == ("unchanged", 0)


def test_ingest_with_bad_row_stores_nothing(store: Home, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(jsonl(make_trace("One?")) + b'{"prompt": ""}\n')
    with pytest.raises(DataError, match="line 2"):
        ingest_file(store, file, options=ImportOptions(), spec=spec())
    assert list(TraceRepository(store.database).iter_selected(TraceFilter())) == []


def test_diff_lists_added_removed_and_changed(tmp_path: Path) -> None:
    same = stored(make_trace("Same?"))
    removed = stored(make_trace("Gone?"))
    added = stored(make_trace("Came?"))
    before, after = (stored(make_trace("Answer?", final_answer=answer)) for answer in ("5", "6"))
    build(tmp_path, [same, removed, before])
    build(tmp_path, [same, added, after], dataset_version="v2")
    diff = diff_datasets(tmp_path / "datasets", "demo-v1", "demo-v2", limit=10, offset=0)
    assert {row.prompt_start for row in diff.added} == {"Came?", "Answer?"}
    assert {row.prompt_start for row in diff.removed} == {"Gone?", "Answer?"}
    assert (diff.num_unchanged, diff.num_added, diff.num_removed, diff.num_answers_changed) == (1, 2, 2, 1)
    assert diff.answers_changed[0].base_answers == ("5",)
    assert diff.answers_changed[0].other_answers == ("6",)
    assert not diff.identical


def test_diff_lists_moved_questions(tmp_path: Path) -> None:
    halves = {"train": 0.5, "validation": 0.5}
    build(tmp_path, sums(40), splits=halves, seed=1)
    build(tmp_path, sums(40), splits=halves, seed=2, dataset_version="v2")
    diff = diff_datasets(tmp_path / "datasets", "demo-v1", "demo-v2", limit=5, offset=0)
    assert diff.num_splits_moved > 5
    assert len(diff.splits_moved) == 5
    assert (diff.num_added, diff.num_removed) == (0, 0)


@pytest.mark.parametrize("file_type", ["jsonl", "parquet"])
@pytest.mark.parametrize("export_format", ["trace", "messages", "tunix_sft", "training_example"])
def test_export_writes_rows_and_card(tmp_path: Path, file_type: Any, export_format: ExportFormat) -> None:
    build(tmp_path, sums(20), splits={"train": 0.5, "validation": 0.5})
    target = tmp_path / "out"
    report = export_directory(
        tmp_path / "datasets",
        "demo-v1",
        target,
        split=None,
        export_format=export_format,
        file_type=file_type,
    )
    assert sum(report.rows_by_file.values()) == 20
    assert f"path: train.{file_type}" in (target / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ConflictError, match="not an empty directory"):
        export_directory(
            tmp_path / "datasets",
            "demo-v1",
            target,
            split=None,
            export_format=export_format,
            file_type=file_type,
        )


def test_all_export_formats_are_offered() -> None:
    from typing import get_args

    from tunix_rt.traces.formats.export import EXPORT_FORMATS

    assert set(get_args(ExportFormat)) == set(EXPORT_FORMATS)
