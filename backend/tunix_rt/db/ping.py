"""Does the database answer?"""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine, func, select, table

from tunix_rt.db.engine import damaged
from tunix_rt.db.quick_reads import QuickRead

_QUESTION = QuickRead(select(func.count()).select_from(table("alembic_version")))


def ping(engine: Engine) -> None:
    """Really ask the database something.

    Raises:
        StorageError: it did not answer.
    """
    if engine.dialect.name == "sqlite" and engine.url.database:
        _look_at_file(Path(engine.url.database))
    _QUESTION.rows(engine, {})


def _look_at_file(path: Path) -> None:
    # A pooled connection goes on reading a file that was deleted or replaced; a new one sees what is there.
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            # From the first page: reading a table would take ten times as long, to understand all of them.
            ((schema_version,),) = connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        raise damaged(f"{path.name}: {error}") from error
    if schema_version == 0:
        raise damaged(f"{path.name}: it is empty")
