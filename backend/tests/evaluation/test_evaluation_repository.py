"""Evaluations, predictions and baselines: the same behaviour on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from support.evaluations import (
    NOON,
    make_evaluation,
    make_generation,
    make_model,
    make_prediction,
    make_predictions,
)

from tunix_rt.base.errors import ConflictError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Baseline, GateRule
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import Evaluation, EvaluationFilter, Prediction, PredictionFilter, summary_of


@pytest.fixture
def repository(store: Home) -> EvaluationRepository:
    return EvaluationRepository(store.database)


@pytest.fixture
def baselines(store: Home) -> BaselineRepository:
    return BaselineRepository(store.database)


def add_evaluation(
    repository: EvaluationRepository, name: str = "model-a", verdicts: str = "10", **values: Any
) -> Evaluation:
    predictions = make_predictions(verdicts)
    evaluation = make_evaluation(predictions, name=name, **values)
    repository.add(evaluation, predictions)
    return evaluation


def names(repository: EvaluationRepository, **criteria: Any) -> list[str]:
    page = repository.list(EvaluationFilter.model_validate(criteria), limit=100, offset=0)
    assert page.pagination.total == len(page.data)
    return [summary.model.name for summary in page.data]


def item_ids(repository: EvaluationRepository, evaluation_id: UUID, **criteria: Any) -> list[str]:
    selection = PredictionFilter.model_validate(criteria)
    page = repository.predictions(evaluation_id, selection, limit=100, offset=0)
    assert page.pagination.total == len(page.data)
    return [prediction.item_id for prediction in page.data]


def make_baseline(evaluation: Evaluation, name: str = "main", **rule: Any) -> Baseline:
    return Baseline(name=name, evaluation_id=evaluation.evaluation_id, rule=GateRule(**rule), created_at=NOON)


def test_evaluation_and_predictions_round_trip(repository: EvaluationRepository) -> None:
    predictions = make_predictions(["11", "0-", "?1"])
    evaluation = make_evaluation(predictions)
    assert repository.add(evaluation, predictions)
    assert repository.get(evaluation.evaluation_id) == evaluation
    assert list(repository.iter_predictions(evaluation.evaluation_id)) == predictions


def test_add_is_idempotent(repository: EvaluationRepository) -> None:
    evaluation = add_evaluation(repository)
    assert not repository.add(evaluation, make_predictions("10"))
    assert item_ids(repository, evaluation.evaluation_id) == ["item-0", "item-1"]


def test_conflicting_evaluation_is_refused(repository: EvaluationRepository) -> None:
    evaluation = add_evaluation(repository)
    other = evaluation.model_copy(update={"evalset": "another"})
    with pytest.raises(ConflictError, match="Another evaluation"):
        repository.add(other, [])


def test_concurrent_adds_store_once(repository: EvaluationRepository) -> None:
    predictions = make_predictions("1" * 200)
    evaluation = make_evaluation(predictions)
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda _: repository.add(evaluation, predictions), range(4)))
    assert sorted(added) == [False, False, False, True]
    assert list(repository.iter_predictions(evaluation.evaluation_id)) == predictions


def test_arbitrary_text_round_trips(repository: EvaluationRepository) -> None:
    text = "nul \x00, a fox 🦊, a \u2028 line \r\n and \x1b[0m"
    predictions = [make_prediction(generation=make_generation(text=text))]
    evaluation = make_evaluation(predictions)
    repository.add(evaluation, predictions)
    assert repository.prediction(evaluation.evaluation_id, "item-0") == tuple(predictions)


def test_list_orders_by_newest_or_best(repository: EvaluationRepository) -> None:
    add_evaluation(repository, "poor", "00", age_hours=0)
    add_evaluation(repository, "unscored", "??", age_hours=1)
    add_evaluation(repository, "good", "11", age_hours=2)
    add_evaluation(repository, "as-good", "11", age_hours=3)
    assert names(repository) == ["poor", "unscored", "good", "as-good"]
    best = repository.list(EvaluationFilter(), limit=3, offset=1, order="best")
    assert [summary.model.name for summary in best.data] == ["as-good", "poor", "unscored"]
    assert best.pagination.total == 4


def test_list_returns_summaries(repository: EvaluationRepository) -> None:
    evaluation = add_evaluation(repository, "run-a", "110?")
    page = repository.list(EvaluationFilter(), limit=10, offset=0)
    assert page.data == (summary_of(evaluation),)
    assert (page.data[0].num_scored, page.data[0].num_unscored) == (3, 1)


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ({"dataset": "sums-v1"}, ["run-a"]),
        ({"dataset": "sums"}, []),
        ({"model": "BASE"}, ["run-a"]),
        ({"model": "smol"}, ["hub/SmolLM"]),
        ({"model": "100%"}, []),
        ({"model": "_"}, []),
        ({"recipe": "TIN"}, ["run-a"]),
        ({"evalset": "exam"}, ["run-a", "hub/SmolLM"]),
        ({"evalset": "exa"}, []),
        ({"run_id": "run-a"}, ["run-a"]),
        ({"run_id": "run-a", "model": "smol"}, []),
        ({"date_from": "2026-01-01"}, ["run-a"]),
        ({"date_to": "2026-01-01"}, ["run-a", "hub/SmolLM"]),
        ({"date_to": "2025-12-31"}, ["hub/SmolLM"]),
        ({"date_from": "2026-01-01T13:00:00+01:00"}, ["run-a"]),
        ({"date_from": "2026-01-01T12:00:01Z"}, []),
        ({"date_to": "2026-01-01T12:00:00"}, ["run-a", "hub/SmolLM"]),
        ({"date_to": "2026-01-01T11:59:59"}, ["hub/SmolLM"]),
    ],
)
def test_evaluation_filters_are_combined(
    repository: EvaluationRepository, criteria: dict[str, str], expected: list[str]
) -> None:
    add_evaluation(repository, "run-a")
    add_evaluation(repository, "hub/SmolLM", age_hours=24)
    assert names(repository, **criteria) == expected


def test_newest_of_run_filters_by_evalset(repository: EvaluationRepository) -> None:
    older = add_evaluation(repository, "first", model=make_model("run-a"), age_hours=2)
    newer = add_evaluation(repository, "second", model=make_model("run-a"), evalset="other", age_hours=1)
    assert repository.newest_of_run("run-a") == newer
    assert repository.newest_of_run("run-a", evalset="exam") == older
    assert repository.newest_of_run("run-b") is None


def test_ids_are_found_by_prefix(repository: EvaluationRepository) -> None:
    mine, other = (
        add_evaluation(repository, "model-a").evaluation_id,
        add_evaluation(repository, "model-b").evaluation_id,
    )
    for length in (6, 8, 13, 36):
        assert repository.find_ids(str(mine)[:length]) == (mine,)
    assert repository.find_ids(other.hex[:6].upper()) == (other,)
    assert repository.find_ids("000000") == ()


def varied_predictions() -> list[Prediction]:
    return [
        make_prediction("a", "correct", section="core", category="algebra", prompt="Äpfel kaufen"),
        make_prediction("b", "wrong", section="edge_case", difficulty="hard", prompt="100% of it"),
        make_prediction("c", "no-answer", section="core", prompt="a_b"),
        make_prediction("d", "unscored", prompt="plain"),
    ]


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ({}, ["a", "b", "c", "d"]),
        ({"verdict": "wrong"}, ["b"]),
        ({"section": "core"}, ["a", "c", "d"]),
        ({"section": "core", "verdict": "no-answer"}, ["c"]),
        ({"category": "algebra"}, ["a"]),
        ({"difficulty": "hard"}, ["b"]),
        ({"rule": "answer-tag"}, ["a", "b"]),
        ({"text": "äpfel"}, ["a"]),
        ({"text": "100%"}, ["b"]),
        ({"text": "_"}, ["c"]),
        ({"text": "<ANSWER>17"}, ["b"]),
        ({"text": "verdict"}, []),
    ],
)
def test_prediction_filters_are_combined(
    repository: EvaluationRepository, criteria: dict[str, str], expected: list[str]
) -> None:
    evaluation = make_evaluation(varied_predictions())
    repository.add(evaluation, varied_predictions())
    assert item_ids(repository, evaluation.evaluation_id, **criteria) == expected


def test_prediction_pages_cover_all_items(repository: EvaluationRepository) -> None:
    evaluation_id = add_evaluation(repository, verdicts="1" * 25).evaluation_id
    pages = [
        repository.predictions(evaluation_id, PredictionFilter(), limit=10, offset=offset)
        for offset in (0, 10, 20)
    ]
    assert [page.pagination.total for page in pages] == [25, 25, 25]
    shown = [prediction.item_id for page in pages for prediction in page.data]
    assert shown == [f"item-{number}" for number in range(25)]


def test_item_returns_all_samples(repository: EvaluationRepository) -> None:
    predictions = make_predictions(["101", "000"])
    evaluation = make_evaluation(predictions)
    repository.add(evaluation, predictions)
    assert repository.prediction(evaluation.evaluation_id, "item-0") == tuple(predictions[:3])
    with pytest.raises(NotFoundError, match="eval items"):
        repository.prediction(evaluation.evaluation_id, "item-2")


def test_unknown_evaluation_is_not_found(
    repository: EvaluationRepository, baselines: BaselineRepository
) -> None:
    unknown = uuid4()
    calls = [
        lambda: repository.get(unknown),
        lambda: repository.predictions(unknown, PredictionFilter(), limit=1, offset=0),
        lambda: repository.prediction(unknown, "item-0"),
        lambda: list(repository.iter_predictions(unknown)),
        lambda: repository.delete(unknown),
        lambda: baselines.put(Baseline(name="main", evaluation_id=unknown, created_at=NOON)),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="eval list"):
            call()


def test_delete_removes_only_its_predictions(repository: EvaluationRepository) -> None:
    deleted, remaining = add_evaluation(repository, "model-a"), add_evaluation(repository, "model-b")
    repository.delete(deleted.evaluation_id)
    assert names(repository) == ["model-b"]
    assert item_ids(repository, remaining.evaluation_id) == ["item-0", "item-1"]
    repository.add(deleted, [])
    assert item_ids(repository, deleted.evaluation_id) == []


def test_put_replaces_named_baseline(repository: EvaluationRepository, baselines: BaselineRepository) -> None:
    first, second = add_evaluation(repository, "model-a"), add_evaluation(repository, "model-b")
    baselines.put(make_baseline(first))
    replacement = make_baseline(second, alpha=0.01, protected_sections=("core",))
    baselines.put(replacement)
    baselines.put(make_baseline(first, "another"))
    assert baselines.get("main") == replacement
    assert [baseline.name for baseline in baselines.list()] == ["another", "main"]
    assert baselines.get("main").created_at.utcoffset() == timedelta(0)


def test_delete_refuses_baseline_evaluation(
    repository: EvaluationRepository, baselines: BaselineRepository
) -> None:
    evaluation = add_evaluation(repository)
    baselines.put(make_baseline(evaluation))
    with pytest.raises(ConflictError, match=r"'main'.*tunix-rt baselines rm main"):
        repository.delete(evaluation.evaluation_id)
    baselines.delete("main")
    repository.delete(evaluation.evaluation_id)


def test_unknown_baseline_suggests_next_step(
    repository: EvaluationRepository, baselines: BaselineRepository
) -> None:
    with pytest.raises(NotFoundError, match="baselines set"):
        baselines.get("main")
    baselines.put(make_baseline(add_evaluation(repository)))
    with pytest.raises(NotFoundError, match="Did you mean 'main'"):
        baselines.delete("mian")
