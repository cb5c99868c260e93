"""Evaluation directories: appended batches, incomplete lines, locking."""

import hashlib
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from support.evaluation_starts import batch_of, sum_generation, sum_items, sum_prediction, sum_start

from tunix_rt.base.errors import ConflictError, DataError
from tunix_rt.evaluation.files import EvaluationDir
from tunix_rt.evaluation.types import generation_figures
from tunix_rt.models.types import EvaluatedModel

ITEMS = sum_items(3)


@pytest.fixture
def directory(tmp_path: Path) -> EvaluationDir:
    created = EvaluationDir(tmp_path / "evaluation")
    created.begin(sum_start(ITEMS), ITEMS)
    return created


def test_new_directory_is_empty(tmp_path: Path) -> None:
    empty = EvaluationDir(tmp_path)
    assert empty.read_start() is None
    assert empty.read_evaluation() is None
    assert empty.read_generations() == {}


def test_request_and_items_round_trip(directory: EvaluationDir) -> None:
    assert directory.read_start() == sum_start(ITEMS)
    assert directory.read_items() == ITEMS


def test_killed_start_is_resumed(tmp_path: Path) -> None:
    """The process may die before the request or before the items are written."""
    killed = EvaluationDir(tmp_path / "killed")
    killed.path.mkdir()
    (killed.path / ".request.json.x1").write_text("{")
    assert killed.is_empty()
    killed.begin(sum_start(ITEMS), ITEMS)
    killed.items.unlink()
    killed.begin(sum_start(ITEMS, evalset="another"), ITEMS)
    assert killed.read_start() == sum_start(ITEMS)
    assert killed.read_items() == ITEMS
    assert not killed.is_empty()


def test_second_process_appends_generations(directory: EvaluationDir) -> None:
    for item in ITEMS[:2]:
        with directory.writing() as add:
            add([sum_generation(item)], batch_of(1))
    assert list(directory.read_generations()) == [("sum-0", 0), ("sum-1", 0)]
    assert len(directory.read_batches()) == 2


def test_incomplete_last_line_is_replaced(directory: EvaluationDir) -> None:
    with directory.writing() as add:
        add(map(sum_generation, ITEMS[:2]), batch_of(2))
    complete = directory.generations.read_bytes()
    directory.generations.write_bytes(complete[:-5])
    assert list(directory.read_generations()) == [("sum-0", 0)]
    with directory.writing() as add:
        add([sum_generation(ITEMS[1])], batch_of(1))
    assert directory.generations.read_bytes() == complete


def test_invalid_generation_line_is_reported(directory: EvaluationDir) -> None:
    directory.generations.write_text('{"item_id": "sum-0"}\n')
    with pytest.raises(DataError, match=r"generations\.jsonl.*line 1"):
        directory.read_generations()


def test_predictions_round_trip_with_hash(directory: EvaluationDir) -> None:
    predictions = [sum_prediction(item, sum_generation(item)) for item in ITEMS]
    digest = directory.write_predictions(predictions)
    assert digest == hashlib.sha256(directory.predictions.read_bytes()).hexdigest()
    assert list(directory.read_predictions()) == predictions


def test_directory_lock_is_exclusive(directory: EvaluationDir) -> None:
    with (
        directory.held(),
        pytest.raises(ConflictError, match="Another process is writing the evaluation"),
        directory.held(),
    ):
        pass


def test_start_differences_ignore_id_and_time() -> None:
    start = sum_start(ITEMS)
    later = start.model_copy(
        update={"evaluation_id": uuid4(), "created_at": start.created_at + timedelta(hours=1)}
    )
    assert start.differences(later) == ()
    other_model = EvaluatedModel(name="tiny-llama", origin="built-in", weights="random", seed=1)
    other = sum_start(ITEMS, model=other_model)
    assert start.differences(other) == ("model.seed: 0 / 1",)
    assert "evalset_hash" in start.differences(sum_start(ITEMS[:2]))[0]


def test_generation_figures_sum_batches() -> None:
    figures = generation_figures([batch_of(4, seconds=2.0), batch_of(2, seconds=1.0)], num_new_tokens=140)
    assert figures is not None
    assert (figures.seconds, figures.tokens_per_s) == (3.0, 40.0)
    assert figures.num_new_tokens == 140
    assert generation_figures([], num_new_tokens=0) is None
