"""The same behaviour on SQLite and on PostgreSQL: every test runs on both."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from support.builders import make_item, make_trace

from tunix_rt.base.errors import InvalidInputError, NotFoundError
from tunix_rt.base.home import Home
from tunix_rt.traces.linter.findings import LINTER_VERSION, Finding, LintReport
from tunix_rt.traces.service import add_trace
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter, trace_id


def report(score: float, *codes: str) -> LintReport:
    findings = tuple(Finding(code=code, step=0, span=(0, 1), found="x", expected=None) for code in codes)
    return LintReport(linter_version=LINTER_VERSION, score=score, components={}, findings=findings)


def prompts(store: Home, **criteria: object) -> list[str]:
    page = TraceRepository(store.database).list(TraceFilter.model_validate(criteria), limit=100, offset=0)
    assert page.total == len(page.data)
    return [item.prompt_start for item in page.data]


def test_stored_trace_round_trips(store: Home) -> None:
    trace = make_trace("Wie viel ist 2 + 3? 🦊", source="ünïcode", tags=["a"])
    stored = add_trace(TraceRepository(store.database), trace)
    assert stored.created
    assert TraceRepository(store.database).get(stored.id).trace() == trace


def test_created_at_is_utc(store: Home) -> None:
    stored = add_trace(TraceRepository(store.database), make_trace())
    assert stored.created_at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - stored.created_at) < timedelta(minutes=1)


def test_add_is_idempotent(store: Home) -> None:
    add_trace(TraceRepository(store.database), make_trace())
    assert not add_trace(TraceRepository(store.database), make_trace()).created
    assert len(prompts(store)) == 1


def test_batch_stores_duplicates_once(store: Home) -> None:
    result = TraceRepository(store.database).add_many([make_item("a"), make_item("a"), make_item("b")])
    assert (result.num_added, result.num_present) == (2, 1)


def test_unknown_id_raises_not_found(store: Home) -> None:
    with pytest.raises(NotFoundError, match="traces list"):
        TraceRepository(store.database).get(uuid4())


def test_newest_trace_is_listed_first(store: Home) -> None:
    for prompt in ("first", "second", "third"):
        add_trace(TraceRepository(store.database), make_trace(prompt))
    assert prompts(store) == ["third", "second", "first"]


def test_pages_cover_all_traces_once(store: Home) -> None:
    TraceRepository(store.database).add_many([make_item(f"question {n}") for n in range(25)])
    pages = [
        TraceRepository(store.database).list(TraceFilter(), limit=10, offset=offset) for offset in (0, 10, 20)
    ]
    assert [len(page.data) for page in pages] == [10, 10, 5]
    assert {page.total for page in pages} == {25}
    assert len({item.id for page in pages for item in page.data}) == 25


@pytest.mark.parametrize("criteria", [TraceFilter(), TraceFilter(source="a")])
def test_pages_are_slices_of_list(store: Home, criteria: TraceFilter) -> None:
    TraceRepository(store.database).add_many([make_item(f"question {n}", source="a") for n in range(25)])
    everything = [
        item.id for item in TraceRepository(store.database).list(criteria, limit=100, offset=0).data
    ]
    for limit in (1, 4, 10):
        for offset in range(0, 30, 3):
            page = TraceRepository(store.database).list(criteria, limit=limit, offset=offset)
            assert [item.id for item in page.data] == everything[offset : offset + limit]


def test_filters_must_all_match(store: Home) -> None:
    TraceRepository(store.database).add_many(
        [
            make_item("one", source="a", level=1, tags=["x", "y"]),
            make_item("two", source="a", level=2, tags=["x"]),
            make_item("three", source="b", level=1, tags=["y"]),
        ]
    )
    assert sorted(prompts(store, source="a")) == ["one", "two"]
    assert prompts(store, source="a", labels={"level": "1"}) == ["one"]
    assert prompts(store, tags=["x", "y"]) == ["one"]
    assert prompts(store, source="a", tags=["nothing"]) == []


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
def test_search_requires_all_words(store: Home, query: str, expected: list[str]) -> None:
    TraceRepository(store.database).add_many(
        [make_item("Tom's apples"), make_item("Die Größe"), make_item("pay 7.25 now")]
    )
    assert prompts(store, query=query) == expected


def test_search_covers_steps_and_answer(store: Home) -> None:
    add_trace(
        TraceRepository(store.database), make_trace("q", steps=["carry the zebra"], final_answer="quagga")
    )
    assert prompts(store, query="zebra quagga") == ["q"]


def test_search_combines_with_labels(store: Home) -> None:
    TraceRepository(store.database).add_many(
        [make_item("red fox", source="a"), make_item("red hen", source="b")]
    )
    assert prompts(store, query="red", source="b") == ["red hen"]


def test_search_without_words_is_rejected(store: Home) -> None:
    with pytest.raises(InvalidInputError, match="no word"):
        prompts(store, query="?!")


def test_lint_filters_exclude_unscored_traces(store: Home) -> None:
    TraceRepository(store.database).add_many(
        [make_item("judged", source="a"), make_item("unjudged", source="a")]
    )
    judged = trace_id(make_item("judged", source="a")[1])
    TraceRepository(store.database).save_reports([(judged, report(90.0, "step-repeated"))])
    for criteria in (
        {"min_score": 0},
        {"with_codes": ["step-repeated"]},
        {"without_codes": ["arithmetic-wrong"]},
    ):
        page = TraceRepository(store.database).list(
            TraceFilter.model_validate(criteria | {"source": "a"}), limit=10, offset=0
        )
        assert [item.prompt_start for item in page.data] == ["judged"]
        assert page.num_unscored == 1


def test_score_bounds_filter_list(store: Home) -> None:
    items = [make_item(f"s{n}") for n in range(5)]
    TraceRepository(store.database).add_many(items)
    TraceRepository(store.database).save_reports(
        [(trace_id(text), report(n * 25.0)) for n, (_, text) in enumerate(items)]
    )
    assert sorted(prompts(store, min_score=25, max_score=75)) == ["s1", "s2", "s3"]


def test_new_report_replaces_old(store: Home) -> None:
    stored = add_trace(TraceRepository(store.database), make_trace())
    TraceRepository(store.database).save_reports([(stored.id, report(10.0, "arithmetic-wrong"))])
    TraceRepository(store.database).save_reports([(stored.id, report(80.0, "step-repeated"))])
    again = TraceRepository(store.database).get(stored.id)
    assert (again.score, TraceRepository(store.database).lint_codes(stored.id)) == (80.0, ("step-repeated",))
    assert TraceRepository(store.database).get_report(stored.id) == report(80.0, "step-repeated")


def test_delete_clears_every_index(store: Home) -> None:
    stored = add_trace(TraceRepository(store.database), make_trace("the okapi", source="zoo"))
    TraceRepository(store.database).save_reports([(stored.id, report(50.0, "step-repeated"))])
    TraceRepository(store.database).delete(stored.id)
    assert prompts(store) == prompts(store, query="okapi") == prompts(store, source="zoo") == []
    add_trace(TraceRepository(store.database), make_trace("the okapi", source="zoo"))
    assert prompts(store, query="okapi") == ["the okapi"]
    with pytest.raises(NotFoundError):
        TraceRepository(store.database).delete(uuid4())


def test_selected_traces_stream_by_id(store: Home) -> None:
    items = [make_item(f"question {n}", source="a" if n % 2 else "b") for n in range(1201)]
    TraceRepository(store.database).add_many(items)
    selected = list(TraceRepository(store.database).iter_selected(TraceFilter(source="a")))
    assert len(selected) == 600
    assert [item.id for item in selected] == sorted(item.id for item in selected)
    assert {item.canonical for item in selected} == {
        text for trace, text in items if trace.meta["source"] == "a"
    }


def test_concurrent_writers_store_each_trace_once(store: Home) -> None:
    items = [make_item(f"question {n}") for n in range(200)]
    orders = [items, items[::-1], items[50:] + items[:50], items[::2] + items[1::2]]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(TraceRepository(store.database).add_many, orders))
    assert sum(result.num_added for result in results) == 200
    assert TraceRepository(store.database).list(TraceFilter(), limit=1, offset=0).total == 200


def test_long_meta_values_can_be_filtered(store: Home) -> None:
    add_trace(TraceRepository(store.database), make_trace("q", source="x" * 5000))
    assert prompts(store, source="x" * 5000) == ["q"]
    assert prompts(store, source="x" * 4999) == []
