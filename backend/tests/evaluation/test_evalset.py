"""Eval sets: loading with line numbers, and the validation report."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunix_rt.base.errors import DataError, NotFoundError
from tunix_rt.datasets.evalsets import MAX_LINE_BYTES, load_evalset
from tunix_rt.datasets.types import EvalItem, evalset_hash, item_json
from tunix_rt.evaluation.scoring.evalset_report import EvalSetReport, validate_evalset


def row(**changes: Any) -> dict[str, Any]:
    defaults = {
        "id": "q-1",
        "prompt": "What is 2 + 3?",
        "expected_answer": "5",
        "section": "core",
        "category": "arithmetic",
        "difficulty": "easy",
    }
    return defaults | changes


def write_rows(tmp_path: Path, *rows: dict[str, Any] | str) -> Path:
    path = tmp_path / "set.jsonl"
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def codes(report: EvalSetReport) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in report.problems]


def test_items_load_in_file_order(tmp_path: Path) -> None:
    path = write_rows(tmp_path, row(id="b"), "", row(id="a", prompt="What is 1 + 1?"))
    assert [item.id for item in load_evalset(path)] == ["b", "a"]


@pytest.mark.parametrize(
    ("invalid", "reason"),
    [
        (row(section="core "), "section"),
        (row(difficulty="insane"), "difficulty"),
        (row(expected_answer="  "), "expected_answer: is empty"),
        (row(extra=1), "extra"),
        ({"id": "x"}, "prompt"),
        ("[1, 2]", "item"),
        ("{broken", "JSON"),
        (row(prompt="a\x00b"), "NUL"),
    ],
)
def test_invalid_line_reports_its_number(tmp_path: Path, invalid: dict[str, Any] | str, reason: str) -> None:
    with pytest.raises(DataError, match="line 2: ") as raised:
        load_evalset(write_rows(tmp_path, row(), invalid))
    assert reason in raised.value.detail


def test_next_step_quotes_absolute_path(tmp_path: Path) -> None:
    directory = tmp_path / "my sets"
    directory.mkdir()
    with pytest.raises(DataError) as raised:
        load_evalset(write_rows(directory, row(), "{broken"))
    assert f"tunix-rt data validate '{directory / 'set.jsonl'}'," in raised.value.next_step


def test_many_invalid_lines_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 5: .*; and 2 more"):
        load_evalset(write_rows(tmp_path, *["{broken"] * 7))


def test_invalid_utf8_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(json.dumps(row()).encode() + b'\n{"id": "\xff"}\n')
    with pytest.raises(DataError, match="line 2"):
        load_evalset(path)


def test_oversized_line_is_refused(tmp_path: Path) -> None:
    path = write_rows(tmp_path, row(), "x" * (MAX_LINE_BYTES + 10))
    with pytest.raises(DataError, match="line 2: is longer than"):
        load_evalset(path)


@given(data=st.binary(max_size=300))
def test_report_handles_arbitrary_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "set.jsonl"
    path.write_bytes(data)
    report = validate_evalset(path)
    assert report.is_valid == (report.num_items > 0 and not report.problems)


def test_duplicate_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 3: id 'q-1' is also on line 1"):
        load_evalset(write_rows(tmp_path, row(), row(id="q-2", prompt="?"), row(prompt="!")))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no items"):
        load_evalset(write_rows(tmp_path))


def test_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        load_evalset(tmp_path / "absent.jsonl")


def test_hash_depends_on_fields_and_order() -> None:
    first, second = EvalItem(**row()), EvalItem(**row(id="q-2"))
    hashes = {
        evalset_hash([first, second]),
        evalset_hash([second, first]),
        evalset_hash([first, EvalItem(**row(id="q-2", difficulty="hard"))]),
    }
    assert len(hashes) == 3


def test_report_counts_valid_items(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path, row(), row(id="q-2", prompt="Capital of Peru?", expected_answer="Lima", category="facts")
    )
    report = validate_evalset(path)
    assert report.is_valid
    assert (report.num_items, report.sections) == (2, {"core": 2})
    assert report.categories == {"arithmetic": 1, "facts": 1}
    assert report.content_hash == evalset_hash(load_evalset(path))


def test_report_locates_each_problem(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path,
        row(),
        row(prompt="What is 4 + 4?"),
        row(id="q-3", prompt="what IS  2 + 3?"),
        row(id="q-4", difficulty="none"),
        row(id="q-5", prompt="Is 5 more than 4?"),
    )
    report = validate_evalset(path)
    assert not report.is_valid
    assert codes(report) == [
        ("line-invalid", 4),
        ("id-repeated", 2),
        ("prompt-repeated", 3),
        ("answer-in-prompt", 5),
    ]


def test_report_rejects_empty_file(tmp_path: Path) -> None:
    report = validate_evalset(write_rows(tmp_path))
    assert not report.is_valid
    assert codes(report) == [("too-few-items", None)]


def test_answer_in_prompt_is_a_warning(tmp_path: Path) -> None:
    report = validate_evalset(write_rows(tmp_path, row(prompt="Which is larger, 5 or 4?")))
    assert report.is_valid
    assert codes(report) == [("answer-in-prompt", 1)]


@pytest.mark.parametrize(
    "prompt", ["What is 15 - 10?", "What is 5.5 - 0.5?", "How many are 1,5 hours?", "v5"]
)
def test_answer_matches_whole_numbers_only(tmp_path: Path, prompt: str) -> None:
    assert codes(validate_evalset(write_rows(tmp_path, row(prompt=prompt)))) == []


def test_training_prompt_is_contamination(tmp_path: Path) -> None:
    report = validate_evalset(write_rows(tmp_path, row()), dataset_prompts={"mine-v1": ["  what is 2 + 3? "]})
    assert not report.is_valid
    assert codes(report) == [("contaminated", 1)]
    assert "mine-v1" in report.problems[0].message


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expected_answer": "some day", "answer_type": "date"}, "answer-unreadable"),
        ({"expected_answer": "18 or 19", "answer_type": "number"}, "answer-unreadable"),
        ({"expected_answer": "D", "choices": ["10", "12"]}, "answer-unreadable"),
        (
            {"expected_answer": "5", "answer_type": "number", "accepted_answers": ["five or so"]},
            "answer-unreadable",
        ),
        ({"expected_answer": "A", "choices": ["Ten.", "ten"]}, "choices-repeated"),
    ],
)
def test_unanswerable_item_is_reported(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    report = validate_evalset(write_rows(tmp_path, row(), row(id="q-2", prompt="Which one?", **changes)))
    assert codes(report) == [(code, 2)]


def test_explicit_defaults_keep_the_hash() -> None:
    implicit = EvalItem(id="a", prompt="6*7?", expected_answer="42")
    explicit = EvalItem.model_validate_json(item_json(implicit))
    assert (explicit.section, explicit.category, explicit.difficulty) == ("core", "general", "medium")
    assert '"section": "core"' in item_json(implicit)
    assert "choices" not in item_json(implicit)
    assert evalset_hash([implicit]) == evalset_hash([explicit])
