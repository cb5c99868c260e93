"""SQL dumps of databases with released schemas, which the upgrade tests load.

`PYTHONPATH=backend:backend/tests python -m support.schema_dumps 0002` writes the dumps of a revision. Run it
once, when the revision is released, and never again: the dumps represent the databases of users.
"""

import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from uuid import UUID

import psycopg
from sqlalchemy import Engine, text

from support.builders import make_trace
from support.evaluations import NOON, make_evaluation, make_predictions
from support.models import new_version
from support.postgres import find_binaries, postgres_server
from support.queued_runs import claimed, make_worker, queued
from support.sweeps import make_sweep
from tunix_rt.base.db.engine import open_engine, writing
from tunix_rt.base.db.migrate import upgrade
from tunix_rt.base.home import Home
from tunix_rt.base.settings import Settings
from tunix_rt.evaluation.comparison.store import BaselineRepository, GateCheckRepository
from tunix_rt.evaluation.comparison.types import Baseline, GateCheck, GateRule
from tunix_rt.evaluation.store import EvaluationRepository
from tunix_rt.models.store import ModelRepository
from tunix_rt.models.types import ModelReference, NewModel
from tunix_rt.runs.store.repository import RunRepository
from tunix_rt.runs.store.rows import NewEvent
from tunix_rt.runs.store.workers import FlagRepository, WorkerRepository
from tunix_rt.serving.store import PreferenceRepository
from tunix_rt.serving.types import Preference
from tunix_rt.sweeps.store import Decision, SweepRepository
from tunix_rt.sweeps.types import Trial
from tunix_rt.system.store import TokenRepository
from tunix_rt.system.types import ApiToken
from tunix_rt.traces.scoring import score_trace
from tunix_rt.traces.service import add_trace
from tunix_rt.traces.store import TraceRepository

DUMPS = Path(__file__).parents[1] / "golden" / "schemas"
_ID = UUID("01234567-89ab-8def-8123-456789abcdef")
_GATE_CHECK = GateCheck(
    checked_at=NOON,
    baseline_name="main",
    baseline_evaluation_id=_ID,
    evaluation_id=_ID,
    model_name="sums:1",
    evalset="eval_v2",
    passed=True,
    reasons=(),
    rule=GateRule(),
)
_VOTE = Preference.model_validate(
    {
        "id": _ID,
        "created_at": NOON,
        "messages": [{"role": "user", "content": "What is 2 + 3?"}],
        "a": {"model": "sums:1", "content": "5"},
        "b": {"model": "sums:2", "content": "6"},
        "choice": "a",
    }
)
_NOISE = ("--", "SET ", "SELECT pg_catalog.set_config", "\\")
_DATABASE = "dumped"


def dump_file(revision: str, dialect: str) -> Path:
    return DUMPS / f"{revision}.{dialect}.sql"


def load_dump(engine: Engine, revision: str) -> None:
    """Fill an empty database with the dump of a revision."""
    script = dump_file(revision, engine.dialect.name).read_text(encoding="utf-8")
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        if engine.dialect.name == "sqlite":
            driver.executescript(script)
        else:
            driver.execute(script)
            driver.commit()
            # The dump uses qualified names and clears the search path of the connection.
            connection.invalidate()


def fill(store: Home, revision: str) -> None:
    """Add a few realistic rows to every table of the revision."""
    for prompt, result in (("Wie viele \u00c4pfel?", "5"), ("Isn't it wrong?", "6")):
        trace = make_trace(prompt, [f"2 + 3 = {result}"], result, source="sums", level=3)
        stored = add_trace(TraceRepository(store.database), trace)
        score_trace(TraceRepository(store.database), stored.id)
    add_trace(TraceRepository(store.database), make_trace("Is this one unscored?"))
    if revision >= "0002":
        predictions = make_predictions("10?")
        evaluation = make_evaluation(predictions)
        EvaluationRepository(store.database).add(evaluation, predictions)
        BaselineRepository(store.database).put(
            Baseline(name="main", evaluation_id=evaluation.evaluation_id, created_at=NOON)
        )
    if revision >= "0003":
        _fill_queue(store)
        _fill_registry(store)
        _fill_sweeps(store)
        TokenRepository(store.database).add(
            ApiToken(token_id="ci", name="CI", scope="read", created_at=NOON), "0" * 64
        )
    if revision >= "0004":
        GateCheckRepository(store.database).add(_GATE_CHECK)
    if revision >= "0005":
        PreferenceRepository(store.database).add(_VOTE)


def _fill_queue(store: Home) -> None:
    WorkerRepository(store.database).register(make_worker())
    claim = claimed(store, "taken")
    RunRepository(store.database).event(
        claim.lease, NewEvent("started", "The engine has begun.", {"attempt": 1})
    )
    queued(store, "waiting", priority=5)
    FlagRepository(store.database).set_queue_paused(True)


def _fill_registry(store: Home) -> None:
    ModelRepository(store.database).create(NewModel(name="sums", description="Adds."))
    ModelRepository(store.database).add_version("sums", new_version())
    ModelRepository(store.database).set_alias(ModelReference("sums"), "champion")
    ModelRepository(store.database).set_tag(ModelReference("sums"), "stage", "tried")


def _fill_sweeps(store: Home) -> None:
    sweep = make_sweep()
    SweepRepository(store.database).add(sweep)
    SweepRepository(store.database).move(sweep.sweep_id, "running", NOON)
    trial = Trial(
        number=0,
        run_id="taken",
        params={"training.learning_rate": 1e-3},
        status="succeeded",
        value=0.5,
        created_at=NOON,
    )
    decision = Decision(num_known=0, records=[{"op_code": 0}], trials=[trial], best_run_id="taken")
    assert SweepRepository(store.database).commit(sweep.sweep_id, decision)


def _create_filled_database(url: str, revision: str) -> None:
    engine = open_engine(url)
    with writing(engine) as connection:
        upgrade(connection, revision)
    fill(Home(Settings(home=DUMPS / "unused"), engine), revision)
    with writing(engine) as connection:
        connection.execute(text("UPDATE traces SET created_at = '2025-01-31 12:00:00+00:00'"))
    engine.dispose()


def dump_sqlite(revision: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "tunix_rt.db"
        _create_filled_database(f"sqlite:///{path}", revision)
        with closing(sqlite3.connect(path)) as connection:
            return "\n".join(_sqlite_statements(connection)) + "\n"


def _sqlite_statements(connection: sqlite3.Connection) -> list[str]:
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    objects = dict(connection.execute(query).fetchall())
    statements = []
    for name, sql in objects.items():
        # A full-text index creates its own tables, and they are not empty.
        is_behind_index = name.startswith("trace_index_")
        statements.append(f"DELETE FROM {name};" if is_behind_index else f"{sql};")
    for name, sql in objects.items():
        if sql.startswith("CREATE TABLE"):
            statements += _sqlite_inserts(connection, name)
    return statements


def _sqlite_inserts(connection: sqlite3.Connection, table: str) -> list[str]:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info('{table}')")]
    quoted = " || ', ' || ".join(f'quote("{column}")' for column in columns)
    rows = connection.execute(f"SELECT {quoted} FROM '{table}'").fetchall()
    return [f"INSERT INTO {table} VALUES ({values});" for (values,) in rows]


def dump_postgresql(revision: str) -> str:
    with postgres_server() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {_DATABASE}")
        _create_filled_database(f"{url}/{_DATABASE}".replace("postgresql:", "postgresql+psycopg:"), revision)
        command = [str(find_binaries() / "pg_dump"), "--inserts", "--no-owner", "--no-privileges"]
        done = subprocess.run([*command, f"{url}/{_DATABASE}"], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith(_NOISE)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DUMPS.mkdir(exist_ok=True)
    for chosen in sys.argv[1:]:
        for dialect, dump in (("sqlite", dump_sqlite), ("postgresql", dump_postgresql)):
            dump_file(chosen, dialect).write_text(dump(chosen), encoding="utf-8")
