"""A database of an older schema is brought up to date with everything that is in it."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic import command
from sqlalchemy import Engine, inspect, text
from support.builders import make_trace

from tunix_rt.db.engine import open_engine, reading, writing
from tunix_rt.db.migrate import alembic_config, current_revision, ensure_schema
from tunix_rt.db.schema import SCHEMA_HEAD
from tunix_rt.db.traces import TraceRepository


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database without any table."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_url")
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "old_{tmp_path.name}"')
        url = f"{server.replace('postgresql:', 'postgresql+psycopg:')}/old_{tmp_path.name}"
    engine = open_engine(url)
    yield engine
    engine.dispose()


def upgrade_to(engine: Engine, revision: str) -> None:
    with writing(engine) as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def test_the_first_schema_is_upgraded_and_its_traces_stay(empty: Engine) -> None:
    upgrade_to(empty, "0001")
    assert not inspect(empty).has_table("evaluations")
    stored, _ = TraceRepository(empty).add(make_trace("Does it stay?"))

    ensure_schema(empty)

    with reading(empty) as connection:
        assert current_revision(connection) == SCHEMA_HEAD
        assert connection.execute(text("SELECT count(*) FROM evaluations")).scalar_one() == 0
    assert TraceRepository(empty).get(stored.id).trace() == make_trace("Does it stay?")
