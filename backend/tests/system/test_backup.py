"""Backups are complete, restore on either database and are verified by hash."""

import json
import os
import shutil
import stat
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select
from support.builders import make_item
from support.evaluated_runs import store_answers
from support.evaluations import NOON
from support.queued_runs import claimed, kinds, make_worker, queued
from support.stores import stored_lines

from tunix_rt.base.db.engine import reading
from tunix_rt.base.errors import ConflictError, DataError, InvalidInputError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings
from tunix_rt.evaluation.comparison.store import BaselineRepository
from tunix_rt.evaluation.comparison.types import Baseline
from tunix_rt.runs.store.workers import WorkerRepository
from tunix_rt.system.access import create_token
from tunix_rt.system.backup import make_backup, restore_backup
from tunix_rt.system.store import DUMPED, TokenRepository
from tunix_rt.traces.scoring import score_trace
from tunix_rt.traces.store import TraceRepository
from tunix_rt.traces.types import TraceFilter

Rows = dict[str, list[dict[str, Any]]]

FILES = {
    "datasets/sums-v1/manifest.json": b"{}",
    "runs/run-1/metrics.jsonl": b'{"step": 1}\n',
    "runs/run-1/model/weights.safetensors": bytes(range(256)) * 100,
    "runs/run-1/checkpoints/2/state": b"state",
    "jobs/run-1/output.log": b"\xff\x00 not text\n",
    "models/blobs/ab/abcd": b"weights",
    "recipes/mine.yaml": "name: \u00e4\n".encode(),
}
EXCLUDED = {
    "runs/run-1/.lock": b"",
    "models/checkouts/abcd/weights": b"weights",
    "datasets/sums-v2.tmp-x1/manifest.json": b"{",
    "hub/models--owner--name/blobs/1": b"weights",
}


def populate(store: Home) -> None:
    """Add rows to most tables, and files of every kind."""
    TraceRepository(store.database).add_many(
        [make_item(f"What are {n} apples?", source="sums") for n in range(510)]
    )
    score_trace(
        TraceRepository(store.database),
        TraceRepository(store.database).list(TraceFilter(), limit=1, offset=0).data[0].id,
    )
    evaluation = store_answers(store, "run-1")
    BaselineRepository(store.database).put(
        Baseline(name="main", evaluation_id=evaluation.evaluation_id, created_at=NOON)
    )
    claimed(store, "run-1")
    queued(store, "run-2")
    WorkerRepository(store.database).register(make_worker())
    create_token(TokenRepository(store.database), "someone", "read")
    write_files(store.settings.home_dir)


def write_files(home: Path) -> None:
    for name, content in (FILES | EXCLUDED).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (home / "models/blobs/ab/abcd").chmod(0o444)
    os.mkfifo(home / "runs/pipe")
    (home / "runs/link").symlink_to("/etc/hostname")


def rows_of(store: Home) -> Rows:
    with reading(store.database) as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()
            ]
            for table in DUMPED
        }


def files_of(home: Path) -> dict[str, bytes]:
    found = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    files = {path.relative_to(home).as_posix(): path for path in found}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith("tunix_rt.db")}


@pytest.fixture
def populated_store(store: Home) -> Home:
    populate(store)
    return store


@pytest.fixture
def new_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Settings]:
    """Create settings with an empty home and a database without tables."""

    def make(kind: str) -> Settings:
        home = tmp_path / "new-home"
        if kind == "sqlite":
            return Settings(home=home)
        server, name = request.getfixturevalue("postgres_url"), f"restored_{uuid.uuid4().hex}"
        with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return Settings(home=home, database_url=f"{server}/{name}")

    return make


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_backup_restores_on_both_databases(
    populated_store: Home, new_settings: Callable[[str], Settings], tmp_path: Path, target: str
) -> None:
    file = tmp_path / "backup.zip"
    manifest = make_backup(populated_store, file, with_checkpoints=True)
    settings = new_settings(target)
    assert restore_backup(settings, file) == manifest
    restored = open_home(settings)
    assert rows_of(restored) == rows_of(populated_store)
    assert sum(map(len, rows_of(restored).values())) == manifest.num_rows > 1_020
    assert WorkerRepository(restored.database).list() == ()
    before = files_of(populated_store.settings.home_dir)
    expected = {name: content for name, content in before.items() if name not in EXCLUDED}
    assert files_of(settings.home_dir) == expected
    assert expected.keys() > FILES.keys()
    assert not os.stat(settings.home_dir / "models/blobs/ab/abcd").st_mode & stat.S_IWUSR
    assert stored_lines(restored, query="apples") == stored_lines(populated_store, query="apples") != set()
    assert kinds(restored) == ["submitted", "claimed"]
    # Key sequences continue: new rows overwrite nothing.
    queued(restored, "run-3")
    TraceRepository(restored.database).add_many([make_item("Is there one more?")])
    assert len(stored_lines(restored)) == 511
    restored.close()


@pytest.fixture
def sqlite_store(tmp_path: Path, sqlite_template: Path) -> Iterator[Home]:
    """A store for tests that do not depend on the database."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    opened = open_home(Settings(home=home))
    yield opened
    opened.close()


def test_checkpoints_are_optional(sqlite_store: Home, tmp_path: Path) -> None:
    write_files(sqlite_store.settings.home_dir)
    manifest = make_backup(sqlite_store, tmp_path / "backup.zip", with_checkpoints=False)
    assert "runs/run-1/model/weights.safetensors" in manifest.files
    assert not any("checkpoints" in name or "link" in name for name in manifest.files)
    assert not manifest.has_checkpoints


def test_backup_is_readable_only_by_owner(sqlite_store: Home, tmp_path: Path) -> None:
    make_backup(sqlite_store, tmp_path / "backup.zip", with_checkpoints=False)
    assert stat.S_IMODE((tmp_path / "backup.zip").stat().st_mode) == 0o600


def test_backup_inside_home_is_refused(sqlite_store: Home) -> None:
    with pytest.raises(InvalidInputError, match="inside the home directory"):
        make_backup(sqlite_store, sqlite_store.settings.home_dir / "backup.zip", with_checkpoints=False)


def test_restore_refuses_nonempty_targets(store: Home, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    write_files(store.settings.home_dir)
    queued(store, "run-1")
    make_backup(store, file, with_checkpoints=False)
    before = rows_of(store)
    with pytest.raises(ConflictError, match=r"not empty: it has .*--home DIR"):
        restore_backup(store.settings, file)
    other_home = store.settings.model_copy(
        update={"home": tmp_path / "new", "database_url": store.settings.resolved_database_url}
    )
    with pytest.raises(ConflictError, match="has rows in"):
        restore_backup(other_home, file)
    assert rows_of(store) == before
    assert files_of(tmp_path / "new") == {}


@pytest.fixture
def backup(tmp_path: Path, sqlite_template: Path) -> Path:
    """A backup of a small home."""
    home = tmp_path / "small"
    home.mkdir()
    shutil.copy(sqlite_template, home / "tunix_rt.db")
    store = open_home(Settings(home=home))
    TraceRepository(store.database).add_many([make_item("How many?")])
    (home / "runs/run-1").mkdir(parents=True)
    (home / "runs/run-1/weights").write_bytes(b"weights" * 1000)
    make_backup(store, tmp_path / "backup.zip", with_checkpoints=False)
    store.close()
    return tmp_path / "backup.zip"


def rewrite(backup: Path, **entries: bytes | None) -> None:
    """Replace entries of the archive; None removes an entry."""
    with zipfile.ZipFile(backup) as source:
        old_entries = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(backup, "w") as target:
        for name, content in (old_entries | entries).items():
            if content is not None:
                target.writestr(name, content)


def truncate_half(backup: Path) -> None:
    os.truncate(backup, backup.stat().st_size // 2)


def flip_bit(backup: Path) -> None:
    content = bytearray(backup.read_bytes())
    content[content.index(b"weightsweights") + 5] ^= 1
    backup.write_bytes(content)


def escape_home(backup: Path) -> None:
    with zipfile.ZipFile(backup) as source:
        manifest = json.loads(source.read("manifest.json"))
    manifest["files"]["../evil"] = manifest["files"].pop("runs/run-1/weights")
    rewrite(
        backup,
        **{
            "files/runs/run-1/weights": None,
            "files/../evil": b"weights" * 1000,
            "manifest.json": json.dumps(manifest).encode(),
        },
    )


def use_newer_schema(backup: Path) -> None:
    with zipfile.ZipFile(backup) as source:
        manifest = json.loads(source.read("manifest.json"))
    rewrite(backup, **{"manifest.json": json.dumps(manifest | {"schema_revision": "9999"}).encode()})


def downgrade_to_schema_0002(backup: Path) -> None:
    """Turn the backup into one from a version without runs and models."""
    new = ("runs", "run_", "service_flags", "model", "sweep", "api_tokens")
    with zipfile.ZipFile(backup) as source:
        manifest = json.loads(source.read("manifest.json"))
    dropped = [name for name in manifest["tables"] if name.startswith(new)]
    for name in dropped:
        del manifest["tables"][name]
    manifest["schema_revision"] = "0002"
    entries: dict[str, bytes | None] = {f"database/{name}.jsonl": None for name in dropped}
    rewrite(backup, **entries, **{"manifest.json": json.dumps(manifest).encode()})


def test_older_backup_is_upgraded(
    backup: Path, new_settings: Callable[[str], Settings], tmp_path: Path
) -> None:
    downgrade_to_schema_0002(backup)
    in_use = Settings(home=tmp_path / "newer")
    open_home(in_use).close()
    with pytest.raises(ConflictError, match="older schema"):
        restore_backup(in_use, backup)
    settings = new_settings("sqlite")
    restore_backup(settings, backup)
    restored = open_home(settings)
    assert len(stored_lines(restored, query="many")) == 1
    assert queued(restored, "run-1").status == "queued"
    restored.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (truncate_half, "not a complete backup"),
        (flip_bit, "not a complete backup"),
        (escape_home, "points outside the home"),
        (use_newer_schema, "Upgrade Tunix RT"),
        (lambda file: rewrite(file, **{"manifest.json": None}), "no manifest"),
        (lambda file: rewrite(file, **{"manifest.json": b"{}"}), "its manifest"),
        (lambda file: rewrite(file, **{"files/runs/run-1/weights": b"w"}), "does not match its hash"),
        (lambda file: rewrite(file, **{"database/traces.jsonl": b"{\n"}), "does not match its hash"),
        (lambda file: rewrite(file, **{"files/more": b""}), "do not match its manifest"),
        (lambda file: file.write_bytes(b"no zip"), "not a complete backup"),
    ],
)
def test_damaged_backup_restores_nothing(
    backup: Path, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(backup)
    settings = Settings(home=tmp_path / "new")
    with pytest.raises(DataError, match=message):
        restore_backup(settings, backup)
    assert files_of(settings.home_dir) == {}
    assert not (tmp_path / "evil").exists()
    with pytest.raises(InvalidInputError, match="no file"):
        restore_backup(settings, tmp_path / "missing.zip")
