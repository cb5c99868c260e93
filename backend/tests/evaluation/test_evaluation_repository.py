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


def add(store: Home, name: str = "model-a", verdicts: str = "10", **values: Any) -> Evaluation:
    made = make_predictions(verdicts)
    evaluation = make_evaluation(made, name=name, **values)
    EvaluationRepository(store.database).add(evaluation, made)
    return evaluation


def names(store: Home, **criteria: Any) -> list[str]:
    page = EvaluationRepository(store.database).list(
        EvaluationFilter.model_validate(criteria), limit=100, offset=0
    )
    assert page.pagination.total == len(page.data)
    return [summary.model.name for summary in page.data]


def items(store: Home, evaluation_id: UUID, **criteria: Any) -> list[str]:
    chosen = PredictionFilter.model_validate(criteria)
    page = EvaluationRepository(store.database).predictions(evaluation_id, chosen, limit=100, offset=0)
    assert page.pagination.total == len(page.data)
    return [prediction.item_id for prediction in page.data]


def baseline(evaluation: Evaluation, name: str = "main", **rule: Any) -> Baseline:
    return Baseline(name=name, evaluation_id=evaluation.evaluation_id, rule=GateRule(**rule), created_at=NOON)


def test_evaluation_and_predictions_round_trip(store: Home) -> None:
    made = make_predictions(["11", "0-", "?1"])
    evaluation = make_evaluation(made)
    assert EvaluationRepository(store.database).add(evaluation, made)
    assert EvaluationRepository(store.database).get(evaluation.evaluation_id) == evaluation
    assert list(EvaluationRepository(store.database).iter_predictions(evaluation.evaluation_id)) == made


def test_add_is_idempotent(store: Home) -> None:
    evaluation = add(store)
    assert not EvaluationRepository(store.database).add(evaluation, make_predictions("10"))
    assert items(store, evaluation.evaluation_id) == ["item-0", "item-1"]


def test_conflicting_evaluation_is_refused(store: Home) -> None:
    evaluation = add(store)
    other = evaluation.model_copy(update={"evalset": "another"})
    with pytest.raises(ConflictError, match="Another evaluation"):
        EvaluationRepository(store.database).add(other, [])


def test_concurrent_adds_store_once(store: Home) -> None:
    made = make_predictions("1" * 200)
    evaluation = make_evaluation(made)
    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(lambda _: EvaluationRepository(store.database).add(evaluation, made), range(4)))
    assert sorted(added) == [False, False, False, True]
    assert list(EvaluationRepository(store.database).iter_predictions(evaluation.evaluation_id)) == made


def test_arbitrary_text_round_trips(store: Home) -> None:
    text = "nul \x00, a fox 🦊, a \u2028 line \r\n and \x1b[0m"
    made = [make_prediction(generation=make_generation(text=text))]
    evaluation = make_evaluation(made)
    EvaluationRepository(store.database).add(evaluation, made)
    assert EvaluationRepository(store.database).prediction(evaluation.evaluation_id, "item-0") == tuple(made)


def test_list_orders_by_newest_or_best(store: Home) -> None:
    add(store, "poor", "00", age_hours=0)
    add(store, "unscored", "??", age_hours=1)
    add(store, "good", "11", age_hours=2)
    add(store, "as-good", "11", age_hours=3)
    assert names(store) == ["poor", "unscored", "good", "as-good"]
    best = EvaluationRepository(store.database).list(EvaluationFilter(), limit=3, offset=1, order="best")
    assert [summary.model.name for summary in best.data] == ["as-good", "poor", "unscored"]
    assert best.pagination.total == 4


def test_list_returns_summaries(store: Home) -> None:
    evaluation = add(store, "run-a", "110?")
    page = EvaluationRepository(store.database).list(EvaluationFilter(), limit=10, offset=0)
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
def test_evaluation_filters_are_combined(store: Home, criteria: dict[str, str], expected: list[str]) -> None:
    add(store, "run-a")
    add(store, "hub/SmolLM", age_hours=24)
    assert names(store, **criteria) == expected


def test_newest_of_run_filters_by_evalset(store: Home) -> None:
    older = add(store, "first", model=make_model("run-a"), age_hours=2)
    newer = add(store, "second", model=make_model("run-a"), evalset="other", age_hours=1)
    assert EvaluationRepository(store.database).newest_of_run("run-a") == newer
    assert EvaluationRepository(store.database).newest_of_run("run-a", evalset="exam") == older
    assert EvaluationRepository(store.database).newest_of_run("run-b") is None


def test_ids_are_found_by_prefix(store: Home) -> None:
    mine, other = add(store, "model-a").evaluation_id, add(store, "model-b").evaluation_id
    for length in (6, 8, 13, 36):
        assert EvaluationRepository(store.database).find_ids(str(mine)[:length]) == (mine,)
    assert EvaluationRepository(store.database).find_ids(other.hex[:6].upper()) == (other,)
    assert EvaluationRepository(store.database).find_ids("000000") == ()


def varied() -> list[Prediction]:
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
def test_prediction_filters_are_combined(store: Home, criteria: dict[str, str], expected: list[str]) -> None:
    evaluation = make_evaluation(varied())
    EvaluationRepository(store.database).add(evaluation, varied())
    assert items(store, evaluation.evaluation_id, **criteria) == expected


def test_prediction_pages_cover_all_items(store: Home) -> None:
    evaluation_id = add(store, verdicts="1" * 25).evaluation_id
    pages = [
        EvaluationRepository(store.database).predictions(
            evaluation_id, PredictionFilter(), limit=10, offset=offset
        )
        for offset in (0, 10, 20)
    ]
    assert [page.pagination.total for page in pages] == [25, 25, 25]
    shown = [prediction.item_id for page in pages for prediction in page.data]
    assert shown == [f"item-{number}" for number in range(25)]


def test_item_returns_all_samples(store: Home) -> None:
    made = make_predictions(["101", "000"])
    evaluation = make_evaluation(made)
    EvaluationRepository(store.database).add(evaluation, made)
    assert EvaluationRepository(store.database).prediction(evaluation.evaluation_id, "item-0") == tuple(
        made[:3]
    )
    with pytest.raises(NotFoundError, match="eval items"):
        EvaluationRepository(store.database).prediction(evaluation.evaluation_id, "item-2")


def test_unknown_evaluation_is_not_found(store: Home) -> None:
    unknown = uuid4()
    questions = [
        lambda: EvaluationRepository(store.database).get(unknown),
        lambda: EvaluationRepository(store.database).predictions(
            unknown, PredictionFilter(), limit=1, offset=0
        ),
        lambda: EvaluationRepository(store.database).prediction(unknown, "item-0"),
        lambda: list(EvaluationRepository(store.database).iter_predictions(unknown)),
        lambda: EvaluationRepository(store.database).delete(unknown),
        lambda: BaselineRepository(store.database).put(
            Baseline(name="main", evaluation_id=unknown, created_at=NOON)
        ),
    ]
    for question in questions:
        with pytest.raises(NotFoundError, match="eval list"):
            question()


def test_delete_removes_only_its_predictions(store: Home) -> None:
    gone, kept = add(store, "model-a"), add(store, "model-b")
    EvaluationRepository(store.database).delete(gone.evaluation_id)
    assert names(store) == ["model-b"]
    assert items(store, kept.evaluation_id) == ["item-0", "item-1"]
    EvaluationRepository(store.database).add(gone, [])
    assert items(store, gone.evaluation_id) == []


def test_put_replaces_named_baseline(store: Home) -> None:
    first, second = add(store, "model-a"), add(store, "model-b")
    BaselineRepository(store.database).put(baseline(first))
    replaced = baseline(second, alpha=0.01, protected_sections=("core",))
    BaselineRepository(store.database).put(replaced)
    BaselineRepository(store.database).put(baseline(first, "another"))
    assert BaselineRepository(store.database).get("main") == replaced
    assert [one.name for one in BaselineRepository(store.database).list()] == ["another", "main"]
    assert BaselineRepository(store.database).get("main").created_at.utcoffset() == timedelta(0)


def test_delete_refuses_baseline_evaluation(store: Home) -> None:
    evaluation = add(store)
    BaselineRepository(store.database).put(baseline(evaluation))
    with pytest.raises(ConflictError, match=r"'main'.*tunix-rt baselines rm main"):
        EvaluationRepository(store.database).delete(evaluation.evaluation_id)
    BaselineRepository(store.database).delete("main")
    EvaluationRepository(store.database).delete(evaluation.evaluation_id)


def test_unknown_baseline_suggests_next_step(store: Home) -> None:
    with pytest.raises(NotFoundError, match="baselines set"):
        BaselineRepository(store.database).get("main")
    BaselineRepository(store.database).put(baseline(add(store)))
    with pytest.raises(NotFoundError, match="Did you mean 'main'"):
        BaselineRepository(store.database).delete("mian")
