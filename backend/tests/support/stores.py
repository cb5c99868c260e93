"""Consistency checks of a store, for tests that kill the program or fill its disk."""

from sqlalchemy import text

from support.builders import make_trace
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter, canonical_json


def apple_lines(count: int) -> list[str]:
    """Return `count` traces as JSON lines; each matches the query `apples` and the source `sums`."""
    return [
        canonical_json(
            make_trace(f"What are {n} apples + 3?", [f"{n} + 3 = {n + 3}"], str(n + 3), source="sums")
        )
        for n in range(count)
    ]


def stored_lines(store: Home, **criteria: str) -> set[str]:
    return {
        found.canonical for found in TraceRepository(store.database).iter_selected(TraceFilter(**criteria))
    }


def num_stored(store: Home) -> int:
    return TraceRepository(store.database).list(TraceFilter(), limit=1, offset=0).total


def assert_consistent(settings: Settings, lines: list[str]) -> int:
    """Check that the store has only complete traces and consistent indexes; returns their number."""
    store = open_home(settings)
    found = stored_lines(store)
    assert found <= set(lines)
    assert stored_lines(store, query="apples") == found
    assert stored_lines(store, source="sums") == found
    assert num_stored(store) == len(found)
    if store.database.dialect.name == "sqlite":
        with store.database.connect() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar_one() == "ok"
            assert not connection.execute(text("PRAGMA foreign_key_check")).all()
    store.close()
    return len(found)
