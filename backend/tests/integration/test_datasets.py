"""Datasets from a real store on both databases, through services, HTTP and the command line."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient
from support.builders import make_trace
from support.datasets import build, stored, sums
from typer.testing import CliRunner

from tunix_rt.api.app import create_app
from tunix_rt.cli.data import app as data_app
from tunix_rt.config.settings import Settings
from tunix_rt.core.dataset_spec import DatasetSpec
from tunix_rt.core.errors import ConflictError, DataError, TunixRTError
from tunix_rt.core.store_types import StoredTrace, TraceFilter
from tunix_rt.core.trace import Trace
from tunix_rt.files.dataset_dirs import iter_lines
from tunix_rt.services.dataset_building import build_from_store
from tunix_rt.services.dataset_comparing import diff_datasets
from tunix_rt.services.dataset_exporting import ExportFormat, export_directory
from tunix_rt.services.dataset_ingesting import ingest_file
from tunix_rt.services.importing import ImportOptions
from tunix_rt.services.store import Store, open_store

ALL_IN_TRAIN = {"train": 1.0}


def add(store: Store, rows: list[StoredTrace]) -> None:
    store.traces.add_many([(row.trace(), row.canonical) for row in rows])


def spec(**values: Any) -> DatasetSpec:
    return DatasetSpec.model_validate({"dataset_name": "demo", "splits": ALL_IN_TRAIN} | values)


def jsonl(*traces: Trace) -> bytes:
    return b"".join(trace.model_dump_json().encode() + b"\n" for trace in traces)


def test_a_store_and_a_list_of_its_rows_build_the_same_dataset(store: Store, tmp_path: Path) -> None:
    rows = sums(50)
    add(store, rows)
    splits = {"train": 0.5, "validation": 0.5}
    from_store = build_from_store(store, spec(splits=splits))
    from_list = build(tmp_path / "other", rows, splits=splits)
    assert from_store.manifest.content_hash == from_list.manifest.content_hash
    assert from_store.trace_count == 50


def test_filters_choose_the_rows(store: Store) -> None:
    add(store, sums(5))
    add(store, [stored(make_trace("Which one?", source="riddles", tags=["short", "odd"], level=2))])
    for number, filters in enumerate(
        ({"source": "riddles"}, {"labels": {"level": "2"}}, {"tags": ["odd"]}, {"query": "which"})
    ):
        outcome = build_from_store(store, spec(dataset_version=f"v{number}", filters=filters))
        assert outcome.trace_count == 1, filters


def test_a_score_filter_judges_traces_first(store: Store) -> None:
    right = make_trace("What is 4 + 5?", ["4 + 5 = 9"], "9")
    wrong = make_trace("What is 6 + 7?", ["6 + 7 = 14"], "14")
    add(store, [stored(right), stored(wrong)])
    clean = TraceFilter(without_codes=("arithmetic-wrong",))
    outcome = build_from_store(store, spec(filters=clean))
    assert outcome.trace_count == 1
    assert outcome.manifest.lineage.linter_version is not None
    assert outcome.manifest.splits[0].statistics.num_scored == 1


def test_deleting_a_trace_later_does_not_change_the_dataset(store: Store) -> None:
    rows = sums(3)
    add(store, rows)
    build_from_store(store, spec())
    store.traces.delete(rows[0].id)
    assert len(list(iter_lines(store.settings.datasets_dir, "demo-v1", "train"))) == 3
    with pytest.raises(ConflictError):
        build_from_store(store, spec())


def test_ingest_stores_a_file_and_builds_a_dataset_of_exactly_it(store: Store, tmp_path: Path) -> None:
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


def test_ingest_of_a_file_with_a_bad_row_stores_nothing(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(jsonl(make_trace("One?")) + b'{"prompt": ""}\n')
    with pytest.raises(DataError, match="line 2"):
        ingest_file(store, file, options=ImportOptions(), spec=spec())
    assert list(store.traces.iter_selected(TraceFilter())) == []


def test_a_diff_names_what_came_went_and_changed(tmp_path: Path) -> None:
    same = stored(make_trace("Same?"))
    gone = stored(make_trace("Gone?"))
    came = stored(make_trace("Came?"))
    before, after = (stored(make_trace("Answer?", final_answer=answer)) for answer in ("5", "6"))
    build(tmp_path, [same, gone, before])
    build(tmp_path, [same, came, after], dataset_version="v2")
    diff = diff_datasets(tmp_path / "datasets", "demo-v1", "demo-v2", limit=10, offset=0)
    assert {row.prompt_start for row in diff.added} == {"Came?", "Answer?"}
    assert {row.prompt_start for row in diff.removed} == {"Gone?", "Answer?"}
    assert (diff.num_unchanged, diff.num_added, diff.num_removed, diff.num_answers_changed) == (1, 2, 2, 1)
    assert diff.answers_changed[0].base_answers == ("5",)
    assert not diff.identical


def test_a_diff_shows_questions_that_changed_sides(tmp_path: Path) -> None:
    halves = {"train": 0.5, "validation": 0.5}
    build(tmp_path, sums(40), splits=halves, seed=1)
    build(tmp_path, sums(40), splits=halves, seed=2, dataset_version="v2")
    diff = diff_datasets(tmp_path / "datasets", "demo-v1", "demo-v2", limit=5, offset=0)
    assert diff.num_splits_moved > 5
    assert len(diff.splits_moved) == 5
    assert (diff.num_added, diff.num_removed) == (0, 0)


@pytest.mark.parametrize("file_type", ["jsonl", "parquet"])
@pytest.mark.parametrize("export_format", ["trace", "messages", "tunix_sft", "training_example"])
def test_an_exported_directory_has_every_row_and_the_card(
    tmp_path: Path, file_type: Any, export_format: ExportFormat
) -> None:
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


def test_every_export_format_of_the_project_is_offered() -> None:
    from typing import get_args

    from tunix_rt.core.formats.export import EXPORT_FORMATS

    assert set(get_args(ExportFormat)) == set(EXPORT_FORMATS)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    opened = open_store(Settings(home=tmp_path / "home"))
    add(opened, sums(20))
    with TestClient(create_app(opened)) as started:
        yield started


BODY = {"dataset_name": "demo", "splits": ALL_IN_TRAIN}


def test_http_builds_once_and_says_so_the_second_time(client: TestClient) -> None:
    first = client.post("/api/datasets/build", json=BODY)
    second = client.post("/api/datasets/build", json=BODY)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["dataset_key"] == "demo-v1"
    assert first.json()["trace_count"] == 20
    conflict = client.post("/api/datasets/build", json=BODY | {"limit": 3})
    assert (conflict.status_code, conflict.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dataset_name": "../x"}, 422),
        ({"dataset_name": "x", "unknown": 1}, 422),
        ({"dataset_name": "x", "filters": {"source": "nowhere"}}, 422),
        ({"dataset_name": "x", "filters": {"source": "a\x00b"}}, 422),
        ({"dataset_name": "x", "parent_dataset_key": "nowhere-v1"}, 404),
        ({"dataset_name": "x", "provenance": {"note": "\ud800"}}, 422),
    ],
)
def test_http_refuses_a_bad_build(client: TestClient, body: dict[str, Any], status: int) -> None:
    headers = {"content-type": "application/json"}
    response = client.post("/api/datasets/build", content=json.dumps(body).encode(), headers=headers)
    assert response.status_code == status
    assert set(response.json()) == {"detail", "next_step", "code"}


def test_http_lists_shows_pages_and_deletes(client: TestClient) -> None:
    client.post("/api/datasets/build", json=BODY)
    listed = client.get("/api/datasets").json()
    assert [entry["dataset_key"] for entry in listed["data"]] == ["demo-v1"]
    assert listed["pagination"]["total"] == 1
    assert client.get("/api/datasets/demo-v1").json()["num_rows"] == 20
    page = client.get(
        "/api/datasets/demo-v1/rows", params={"split": "train", "limit": 5, "offset": 18}
    ).json()
    assert (len(page["data"]), page["pagination"]["total"]) == (2, 20)
    assert client.post("/api/datasets/demo-v1/verify").json()["intact"] is True
    assert client.delete("/api/datasets/demo-v1").status_code == 204
    assert client.get("/api/datasets/demo-v1").status_code == 404


@pytest.mark.parametrize("key", ["nowhere-v1", "..%2Fhome", "%2e%2e", "A", "a%00b"])
def test_http_answers_an_unknown_or_tricky_key_with_an_error(client: TestClient, key: str) -> None:
    for path in ("", "/rows", "/diff?other=x-v1", "/export.jsonl", "/export.parquet"):
        response = client.get(f"/api/datasets/{key}{path}")
        assert response.status_code in (404, 422)
        assert set(response.json()) == {"detail", "next_step", "code"}


def test_http_exports_jsonl_and_parquet(client: TestClient) -> None:
    client.post("/api/datasets/build", json=BODY)
    lines = client.get("/api/datasets/demo-v1/export.jsonl").text.splitlines()
    assert len(lines) == 20
    assert Trace.model_validate_json(lines[0])
    chat = client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "messages"}).text
    assert json.loads(chat.splitlines()[0])["messages"][1]["role"] == "assistant"
    parquet = client.get("/api/datasets/demo-v1/export.parquet", params={"split": "train"})
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.content)).num_rows == 20
    assert client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "xml"}).status_code == 422
    assert client.get("/api/datasets/demo-v1/export.jsonl", params={"split": "no"}).status_code == 404


def test_http_export_refuses_a_row_that_does_not_fit_before_sending_anything(client: TestClient) -> None:
    client.post("/api/traces", json=make_trace("Say <end_of_turn> now", source="odd").model_dump())
    client.post("/api/datasets/build", json=BODY)
    response = client.get("/api/datasets/demo-v1/export.jsonl", params={"format": "tunix_sft"})
    assert (response.status_code, response.json()["code"]) == (422, "bad-data")


def test_http_ingests_an_upload_and_builds_of_it(client: TestClient) -> None:
    upload = {"file": ("my traces.jsonl", jsonl(make_trace("One?"), make_trace("Two?")))}
    response = client.post("/api/datasets/ingest", files=upload, data={"dataset_name": "mine"})
    assert response.status_code == 201
    body = response.json()
    assert (body["ingested_count"], len(body["trace_ids"]), body["dataset"]["dataset_key"]) == (
        2,
        2,
        "mine-v1",
    )


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a\x00.jsonl", "x." + "y" * 300, "🍎.jsonl"])
def test_http_ingest_does_not_trust_the_name_of_an_upload(client: TestClient, name: str) -> None:
    upload = {"file": (name, jsonl(make_trace("One?")))}
    response = client.post("/api/datasets/ingest", files=upload)
    assert response.status_code in (201, 400, 422)


def test_http_ingest_reports_bad_rows_and_stores_nothing(client: TestClient) -> None:
    upload = {"file": ("rows.jsonl", jsonl(make_trace("One?")) + b"\xff\xfe\n")}
    response = client.post("/api/datasets/ingest", files=upload)
    assert response.status_code == 422
    assert "line 2" in response.json()["detail"]
    assert client.get("/api/traces").json()["pagination"]["total"] == 20


def test_http_ingest_takes_no_server_path(client: TestClient) -> None:
    response = client.post("/api/datasets/ingest", json={"path": "/etc/passwd", "source_name": "x"})
    assert response.status_code == 422
    assert "root" not in response.text


def run(*arguments: str, exit_code: int = 0) -> Any:
    """The JSON that a data command prints."""
    result = CliRunner().invoke(data_app, [*arguments, "--json"])
    if isinstance(result.exception, TunixRTError):
        assert result.exception.exit_code == exit_code, result.exception
        return result.exception
    assert result.exit_code == exit_code, result.output
    return json.loads(result.stdout)


def test_the_commands_build_show_compare_export_and_delete(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(jsonl(*(row.trace() for row in sums(30))))
    assert run("ingest", str(file), "--name", "demo")["dataset"]["status"] == "created"
    assert run("build", "--name", "demo", "--version", "v2", "--limit", "10")["trace_count"] == 10
    assert [entry["dataset_key"] for entry in run("list")["data"]] == ["demo-v1", "demo-v2"]
    assert run("show", "demo-v2")["num_rows"] == 10
    assert run("diff", "demo-v1", "demo-v2")["num_removed"] == 20
    assert len(run("rows", "demo-v1", "--limit", "3")["data"]) == 3
    assert run("validate", "demo-v1")["intact"] is True
    exported = run("export", "demo-v2", "--output", str(tmp_path / "out"))
    assert sum(exported["rows_by_file"].values()) == 10
    assert run("delete", "demo-v1") == {"deleted": "demo-v1"}
    assert run("show", "demo-v1", exit_code=2).code == "not-found"


def test_the_text_output_of_every_command_is_readable(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(jsonl(*(row.trace() for row in sums(30))))
    for arguments, expected in (
        (["list"], "no datasets yet"),
        (["ingest", str(file), "--name", "demo"], "Built demo-v1"),
        (["build", "--name", "demo"], "nothing was changed"),
        (["build", "--name", "demo", "--version", "v2", "--limit", "9"], "left out 21 (limit)"),
        (["list"], "demo-v2"),
        (["show", "demo-v1"], "contamination: clean"),
        (["rows", "demo-v1"], "What is"),
        (["diff", "demo-v1", "demo-v2"], "rows removed"),
        (["validate", "demo-v1"], "intact"),
        (["export", "demo-v1", "--format", "messages"], '"role":"assistant"'),
        (["delete", "demo-v1"], "Deleted"),
    ):
        result = CliRunner().invoke(data_app, arguments)
        assert result.exit_code == 0, result.output
        assert expected in result.stdout, arguments


def test_validate_exits_1_for_a_damaged_dataset_and_a_bad_eval_set(tmp_path: Path) -> None:
    home = Path(Settings().home)
    build(home, sums(5))
    (home / "datasets/demo-v1/train.jsonl").write_text("changed\n")
    assert run("validate", "demo-v1", exit_code=1)["intact"] is False
    for command in ("export", "rows"):
        assert run(command, "demo-v1", exit_code=3).code == "bad-data"
    run("delete", "demo-v1")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a"}\n')
    assert run("validate", str(bad), exit_code=1)["is_valid"] is False


def test_validate_finds_an_eval_question_in_a_dataset(tmp_path: Path) -> None:
    build(Path(Settings().home), sums(5))
    file = tmp_path / "exam.jsonl"
    item = {"id": "e1", "prompt": "What is 3 + 7?", "expected_answer": "10"}
    file.write_text(json.dumps(item | {"section": "core", "category": "c", "difficulty": "easy"}) + "\n")
    report = run("validate", str(file), exit_code=1)
    assert report["problems"][0]["code"] == "contaminated"


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "--name", "../x"],
        ["build", "--name", "x", "--split", "train"],
        ["build", "--name", "x", "--split", "train=many"],
        ["build", "--name", "x", "--split", "train=0.5"],
        ["build", "--name", "x", "--dedup", "fuzzy"],
        ["export", "x-v1", "--format", "xml"],
        ["show", "../x"],
    ],
)
def test_a_bad_option_is_a_usage_error(arguments: list[str]) -> None:
    error = run(*arguments, exit_code=2)
    assert error.next_step
