"""A database with an older schema is upgraded without losing rows."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from support.schema_dumps import dump_file, load_dump

from tunix_rt.base.db.engine import open_engine, reading
from tunix_rt.base.db.migrate import alembic_config, current_revision, ensure_schema
from tunix_rt.base.db.schema import SCHEMA_HEAD
from tunix_rt.evaluation.comparison.store import BaselineRepository, GateCheckRepository
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.evaluation.types import EvaluationFilter
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelReference
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository
from tunix_rt.serving.store import PreferenceRepository
from tunix_rt.sweeps.store import SweepRepository
from tunix_rt.system.store import TokenRepository
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter

RELEASED = ("0001", "0002", "0003", "0004", "0005")


MakeEmpty = Callable[[], Engine]


@pytest.fixture(params=["sqlite", "postgresql"])
def make_empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeEmpty]:
    """Create databases without tables, all of one kind."""
    with ExitStack() as opened:

        def make() -> Engine:
            name = f"old_{uuid.uuid4().hex}"
            url = f"sqlite:///{tmp_path / name}.db"
            if request.param == "postgresql":
                server = request.getfixturevalue("postgres_url")
                with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
                    connection.execute(f'CREATE DATABASE "{name}"')
                url = f"{server.replace('postgresql:', 'postgresql+psycopg:')}/{name}"
            engine = open_engine(url)
            opened.callback(engine.dispose)
            return engine

        yield make


def rows_of(engine: Engine, tables: list[str]) -> dict[str, list[Any]]:
    with reading(engine) as connection:
        return {
            table: sorted(map(tuple, connection.execute(text(f"SELECT * FROM {table}"))), key=repr)
            for table in tables
        }


def schema_of(engine: Engine) -> dict[str, Any]:
    """Describe every table with its columns, keys and indexes."""
    inspector = inspect(engine)
    return {
        table: {
            "columns": [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(table)],
            "key": inspector.get_pk_constraint(table)["constrained_columns"],
            "foreign": sorted(
                (f["constrained_columns"], f["referred_table"], f["options"])
                for f in inspector.get_foreign_keys(table)
            ),
            "indexes": sorted(
                (i["name"], i["column_names"], i["unique"]) for i in inspector.get_indexes(table)
            ),
        }
        for table in inspector.get_table_names()
    }


def test_released_schemas_have_dumps() -> None:
    known = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    # The newest revision may be unreleased.
    assert known - {SCHEMA_HEAD} <= set(RELEASED) <= known
    for revision in RELEASED:
        assert dump_file(revision, "sqlite").exists()
        assert dump_file(revision, "postgresql").exists()


@pytest.mark.parametrize("revision", RELEASED)
def test_upgrade_keeps_every_row(make_empty: MakeEmpty, revision: str) -> None:
    engine, fresh = make_empty(), make_empty()
    load_dump(engine, revision)
    old_tables = sorted(set(inspect(engine).get_table_names()) - {"alembic_version"})
    before = rows_of(engine, old_tables)
    # The internal tables of SQLite's full-text index may be empty.
    assert all(rows for table, rows in before.items() if not table.startswith("trace_index_"))

    ensure_schema(engine)
    ensure_schema(fresh)

    with reading(engine) as connection:
        assert current_revision(connection) == SCHEMA_HEAD
    assert rows_of(engine, old_tables) == before
    assert schema_of(engine) == schema_of(fresh)
    check_repositories(engine, revision)


def check_repositories(engine: Engine, revision: str) -> None:
    traces = TraceRepository(engine)
    assert traces.list(TraceFilter(), limit=10, offset=0).total == 3
    (row,) = traces.iter_selected(TraceFilter(query="\u00e4pfel"))
    assert row.trace().meta == {"level": 3, "source": "sums"}
    assert traces.list(TraceFilter(source="sums"), limit=10, offset=0).total == 2
    if revision >= "0002":
        assert EvaluationRepository(engine).list(EvaluationFilter(), limit=10, offset=0).pagination.total == 1
        assert [baseline.name for baseline in BaselineRepository(engine).list()] == ["main"]
    if revision >= "0003":
        check_service_tables(engine)
    if revision >= "0004":
        assert GateCheckRepository(engine).list(limit=10, offset=0).pagination.total == 1
    if revision >= "0005":
        assert PreferenceRepository(engine).list(limit=10, offset=0)[1] == 1


def check_service_tables(engine: Engine) -> None:
    runs = RunRepository(engine)
    assert runs.counts() == {"running": 1, "queued": 1}
    assert [event.kind for event in runs.events("taken")] == ["submitted", "claimed", "started"]
    assert ModelRepository(engine).find(ModelReference("sums", alias="champion")).version == 1
    [sweep] = SweepRepository(engine).list(limit=10, offset=0).data
    assert sweep.best_run_id == "taken"
    assert FlagRepository(engine).is_queue_paused()
    assert TokenRepository(engine).num_valid(datetime.now(UTC)) == 1
    assert [worker.worker_id for worker in WorkerRepository(engine).list()] == ["worker-a"]
