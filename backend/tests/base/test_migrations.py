from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from tunix_rt.base.db.engine import open_engine, reading, writing
from tunix_rt.base.db.migrate import alembic_config, current_revision, ensure_schema
from tunix_rt.base.db.schema import SCHEMA_HEAD, metadata
from tunix_rt.base.errors import InvalidInputError, StorageError
from tunix_rt.base.home import Home, open_home
from tunix_rt.base.settings import Settings


def test_schema_head_is_newest_migration() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_current_head() == SCHEMA_HEAD


def test_migrations_match_metadata(store: Home) -> None:
    with reading(store.database) as connection:
        context = MigrationContext.configure(connection, opts={"include_name": _not_full_text})
        assert compare_metadata(context, metadata) == []


def _not_full_text(name: str | None, kind: str, _parents: object) -> bool:
    return not (kind == "table" and str(name).startswith("trace_index"))


def test_newer_database_is_refused(store: Home) -> None:
    with writing(store.database) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StorageError, match="Upgrade Tunix RT"):
        ensure_schema(store.database)


def test_concurrent_starts_migrate_once(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new-home")
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_home(settings), range(4)))
    with reading(stores[0].database) as connection:
        assert current_revision(connection) == SCHEMA_HEAD
    for opened in stores:
        opened.close()


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/name", "oracle://x"])
def test_invalid_database_url_names_setting(url: str) -> None:
    with pytest.raises(InvalidInputError, match="TUNIX_RT_DATABASE_URL"):
        open_engine(url)


def test_unreachable_database_suggests_checks(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url="postgresql://nobody@127.0.0.1:9/nothing")
    with pytest.raises(StorageError, match="that the server is running"):
        open_home(settings)


def test_uncreatable_home_names_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="TUNIX_RT_HOME"):
        open_home(Settings(home=tmp_path / "file" / "home"))
