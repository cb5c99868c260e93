"""References to an evaluation: an id or its prefix, a run, a directory, a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.evaluations import (
    make_evaluation,
    make_model,
    make_prediction,
    predictions_jsonl,
    write_evaluation,
)

from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError, NotFoundError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.evaluation.service import delete_evaluation, find_evaluation, load_predictions
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import EvaluationFilter, Prediction


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Home]:
    opened = open_home(Settings(home=tmp_path / "home"))
    yield opened
    opened.close()


def num_stored(store: Home) -> int:
    return EvaluationRepository(store.database).list(EvaluationFilter(), limit=1, offset=0).pagination.total


def test_directory_or_record_is_stored_once(store: Home, tmp_path: Path) -> None:
    evaluation = write_evaluation(tmp_path / "evaluation-1", "110")
    for reference in (tmp_path / "evaluation-1", tmp_path / "evaluation-1" / "evaluation.json"):
        assert find_evaluation(store, str(reference)) == evaluation
    assert num_stored(store) == 1
    assert [prediction.judgement.verdict for prediction in load_predictions(store, evaluation)] == [
        "correct",
        "correct",
        "wrong",
    ]


def test_id_prefix_and_run_are_resolved(store: Home, tmp_path: Path) -> None:
    evaluation = write_evaluation(tmp_path / "run-1", "110")
    find_evaluation(store, str(tmp_path / "run-1"))
    full_id = str(evaluation.evaluation_id)
    for reference in (
        full_id,
        full_id.upper(),
        evaluation.evaluation_id.hex,
        full_id[:6],
        full_id[:15],
        "run-1",
    ):
        assert find_evaluation(store, reference) == evaluation


def test_run_resolves_to_newest_evaluation(store: Home, tmp_path: Path) -> None:
    model = make_model("run-1")
    for name, age_hours in (("older", 2), ("newest", 1), ("oldest", 3)):
        write_evaluation(tmp_path / name, "10", model=model, age_hours=age_hours)
        find_evaluation(store, str(tmp_path / name))
    assert find_evaluation(store, "run-1") == find_evaluation(store, str(tmp_path / "newest"))


def test_ambiguous_prefix_lists_candidates(store: Home, tmp_path: Path) -> None:
    first = write_evaluation(tmp_path / "first", "10")
    digits = first.evaluation_id.hex[:8]
    other = f"{digits}-0000-4000-8000-000000000000"
    write_evaluation(tmp_path / "other", "10", evaluation_id=other)
    for name in ("first", "other"):
        find_evaluation(store, str(tmp_path / name))
    with pytest.raises(InvalidInputError, match=f"2 evaluations begin with '{digits}'.*{other}"):
        find_evaluation(store, digits)


@pytest.mark.parametrize("reference", ["nothing", "abc", "abcdef", "\udcff", "x" * 5000, "", "0" * 32])
def test_unknown_reference_lists_stored_evaluations(store: Home, tmp_path: Path, reference: str) -> None:
    write_evaluation(tmp_path / "evaluation-1", "10")
    evaluation = find_evaluation(store, str(tmp_path / "evaluation-1"))
    with pytest.raises(NotFoundError) as raised:
        find_evaluation(store, reference)
    assert "tunix-rt eval list" in raised.value.next_step
    assert reference == "0" * 32 or str(evaluation.evaluation_id)[:8] in raised.value.next_step


def test_empty_store_suggests_evaluating(store: Home) -> None:
    with pytest.raises(NotFoundError, match="tunix-rt eval MODEL --eval-set"):
        find_evaluation(store, "nothing")


def test_incomplete_directory_is_refused(store: Home, tmp_path: Path) -> None:
    write_evaluation(tmp_path / "evaluation-1", "10")
    (tmp_path / "evaluation-1" / "evaluation.json").unlink()
    with pytest.raises(NotFoundError, match="no complete evaluation"):
        find_evaluation(store, str(tmp_path / "evaluation-1"))


def test_edited_predictions_are_refused(store: Home, tmp_path: Path) -> None:
    write_evaluation(tmp_path / "evaluation-1", "10")
    predictions = tmp_path / "evaluation-1" / "predictions.jsonl"
    predictions.write_text(predictions.read_text().replace('"wrong"', '"correct"'))
    with pytest.raises(DataError, match="not the file"):
        find_evaluation(store, str(tmp_path / "evaluation-1"))
    assert num_stored(store) == 0


@pytest.mark.parametrize(
    "predictions",
    [
        [make_prediction("twice"), make_prediction("twice")],
        [make_prediction().model_copy(update={"item_id": "x" * 129})],
        [make_prediction().model_copy(update={"category": "a\x00b"})],
    ],
)
def test_impossible_predictions_are_refused(
    store: Home, tmp_path: Path, predictions: list[Prediction]
) -> None:
    """No eval set leads to duplicate or oversized ids, or to NUL characters."""
    evaluation = make_evaluation(predictions)
    (tmp_path / "predictions.jsonl").write_bytes(predictions_jsonl(predictions))
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation.to_json()))
    with pytest.raises(DataError):
        find_evaluation(store, str(tmp_path))


def test_conflicting_record_is_refused(store: Home, tmp_path: Path) -> None:
    evaluation = write_evaluation(tmp_path / "evaluation-1", "10")
    find_evaluation(store, str(tmp_path / "evaluation-1"))
    write_evaluation(tmp_path / "copy", "11", evaluation_id=evaluation.evaluation_id)
    with pytest.raises(ConflictError, match="Another evaluation"):
        find_evaluation(store, str(tmp_path / "copy"))


def test_unstored_evaluation_is_found_by_id(store: Home) -> None:
    """The process died before it stored the evaluation in the database."""
    evaluation = write_evaluation(store.settings.evaluations_dir / "unstored", "10")
    full_id = str(evaluation.evaluation_id)
    (store.settings.evaluations_dir / "unstored").rename(store.settings.evaluations_dir / full_id)
    assert find_evaluation(store, full_id) == evaluation
    assert num_stored(store) == 1
    delete_evaluation(store, evaluation.evaluation_id)
    assert not (store.settings.evaluations_dir / full_id).exists()
    with pytest.raises(NotFoundError):
        find_evaluation(store, full_id)
