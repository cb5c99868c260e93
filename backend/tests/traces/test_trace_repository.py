"""The trace repository; every test runs on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from support.builders import make_item, make_trace

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.traces.linter.findings import LINTER_VERSION, Finding, LintReport
from tunix_rt.traces.service import add_trace
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter, trace_id


def report(score: float, *codes: str) -> LintReport:
    findings = tuple(Finding(code=code, step=0, span=(0, 1), found="x", expected=None) for code in codes)
    return LintReport(linter_version=LINTER_VERSION, score=score, components={}, findings=findings)


def list_prompts(repository: TraceRepository, **criteria: object) -> list[str]:
    page = repository.list(TraceFilter.model_validate(criteria), limit=100, offset=0)
    assert page.total == len(page.data)
    return [item.prompt_start for item in page.data]


def test_stored_trace_round_trips(repository: TraceRepository) -> None:
    trace = make_trace("Wie viel ist 2 + 3? 🦊", source="ünïcode", tags=["a"])
    stored = add_trace(repository, trace)
    assert stored.created
    assert repository.get(stored.id).trace() == trace


def test_created_at_is_utc(repository: TraceRepository) -> None:
    stored = add_trace(repository, make_trace())
    assert stored.created_at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - stored.created_at) < timedelta(minutes=1)


def test_add_is_idempotent(repository: TraceRepository) -> None:
    add_trace(repository, make_trace())
    assert not add_trace(repository, make_trace()).created
    assert len(list_prompts(repository)) == 1


def test_batch_stores_duplicates_once(repository: TraceRepository) -> None:
    result = repository.add_many([make_item("a"), make_item("a"), make_item("b")])
    assert (result.num_added, result.num_present) == (2, 1)


def test_unknown_id_raises_not_found(repository: TraceRepository) -> None:
    with pytest.raises(NotFoundError, match="traces list"):
        repository.get(uuid4())
    with pytest.raises(NotFoundError):
        repository.delete(uuid4())


def test_newest_trace_is_listed_first(repository: TraceRepository) -> None:
    for prompt in ("first", "second", "third"):
        add_trace(repository, make_trace(prompt))
    assert list_prompts(repository) == ["third", "second", "first"]


@pytest.mark.parametrize("criteria", [TraceFilter(), TraceFilter(source="a")])
def test_pages_are_slices_of_list(repository: TraceRepository, criteria: TraceFilter) -> None:
    repository.add_many([make_item(f"question {n}", source="a") for n in range(25)])
    everything = [item.id for item in repository.list(criteria, limit=100, offset=0).data]
    assert len(set(everything)) == 25
    for limit in (1, 4, 10):
        for offset in range(30):
            page = repository.list(criteria, limit=limit, offset=offset)
            assert page.total == 25
            assert [item.id for item in page.data] == everything[offset : offset + limit]


def test_filters_must_all_match(repository: TraceRepository) -> None:
    repository.add_many(
        [
            make_item("one", source="a", level=1, tags=["x", "y"]),
            make_item("two", source="a", level=2, tags=["x"]),
            make_item("three", source="b", level=1, tags=["y"]),
        ]
    )
    assert sorted(list_prompts(repository, source="a")) == ["one", "two"]
    assert list_prompts(repository, source="a", labels={"level": "1"}) == ["one"]
    assert list_prompts(repository, tags=["x", "y"]) == ["one"]
    assert list_prompts(repository, source="a", tags=["nothing"]) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("apples", ["Tom's apples"]),
        ("APPLES tom", ["Tom's apples"]),
        ("apples pears", []),
        ("app*", ["Tom's apples"]),
        ("app", []),
        ("größe", ["Die Größe"]),
        ("7.25", ["pay 7.25 now"]),
        ("'; drop table traces; --", []),
    ],
)
def test_search_requires_all_words(repository: TraceRepository, query: str, expected: list[str]) -> None:
    repository.add_many([make_item("Tom's apples"), make_item("Die Größe"), make_item("pay 7.25 now")])
    assert list_prompts(repository, query=query) == expected


def test_search_covers_steps_and_answer(repository: TraceRepository) -> None:
    add_trace(repository, make_trace("q", steps=["carry the zebra"], final_answer="quagga"))
    assert list_prompts(repository, query="zebra quagga") == ["q"]


def test_search_combines_with_labels(repository: TraceRepository) -> None:
    repository.add_many([make_item("red fox", source="a"), make_item("red hen", source="b")])
    assert list_prompts(repository, query="red", source="b") == ["red hen"]


def test_search_without_words_is_rejected(repository: TraceRepository) -> None:
    with pytest.raises(InvalidInputError, match="no word"):
        list_prompts(repository, query="?!")


def test_lint_filters_exclude_unscored_traces(repository: TraceRepository) -> None:
    scored, unscored = make_item("scored", source="a"), make_item("unscored", source="a")
    repository.add_many([scored, unscored])
    repository.save_reports([(trace_id(scored[1]), report(90.0, "step-repeated"))])
    for criteria in (
        {"min_score": 0},
        {"with_codes": ["step-repeated"]},
        {"without_codes": ["arithmetic-wrong"]},
    ):
        page = repository.list(TraceFilter.model_validate(criteria | {"source": "a"}), limit=10, offset=0)
        assert [item.prompt_start for item in page.data] == ["scored"]
        assert page.num_unscored == 1


def test_score_bounds_filter_list(repository: TraceRepository) -> None:
    items = [make_item(f"s{n}") for n in range(5)]
    repository.add_many(items)
    repository.save_reports([(trace_id(text), report(n * 25.0)) for n, (_, text) in enumerate(items)])
    assert sorted(list_prompts(repository, min_score=25, max_score=75)) == ["s1", "s2", "s3"]


def test_new_report_replaces_old(repository: TraceRepository) -> None:
    stored = add_trace(repository, make_trace())
    repository.save_reports([(stored.id, report(10.0, "arithmetic-wrong"))])
    repository.save_reports([(stored.id, report(80.0, "step-repeated"))])
    updated = repository.get(stored.id)
    assert (updated.score, repository.lint_codes(stored.id)) == (80.0, ("step-repeated",))
    assert repository.get_report(stored.id) == report(80.0, "step-repeated")


def test_delete_clears_every_index(repository: TraceRepository) -> None:
    stored = add_trace(repository, make_trace("the okapi", source="zoo"))
    repository.save_reports([(stored.id, report(50.0, "step-repeated"))])
    repository.delete(stored.id)
    for criteria in ({}, {"query": "okapi"}, {"source": "zoo"}):
        assert list_prompts(repository, **criteria) == []
    add_trace(repository, make_trace("the okapi", source="zoo"))
    assert list_prompts(repository, query="okapi") == ["the okapi"]


def test_selected_traces_stream_by_id(repository: TraceRepository) -> None:
    items = [make_item(f"question {n}", source="a" if n % 2 else "b") for n in range(1201)]
    repository.add_many(items)
    selected = list(repository.iter_selected(TraceFilter(source="a")))
    assert len(selected) == 600
    assert [item.id for item in selected] == sorted(item.id for item in selected)
    assert {item.canonical for item in selected} == {
        text for trace, text in items if trace.meta["source"] == "a"
    }


def test_concurrent_writers_store_each_trace_once(repository: TraceRepository) -> None:
    items = [make_item(f"question {n}") for n in range(200)]
    orders = [items, items[::-1], items[50:] + items[:50], items[::2] + items[1::2]]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(repository.add_many, orders))
    assert sum(result.num_added for result in results) == 200
    assert repository.list(TraceFilter(), limit=1, offset=0).total == 200


def test_long_meta_values_can_be_filtered(repository: TraceRepository) -> None:
    add_trace(repository, make_trace("q", source="x" * 5000))
    assert list_prompts(repository, source="x" * 5000) == ["q"]
    assert list_prompts(repository, source="x" * 4999) == []
