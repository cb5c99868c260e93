"""Bring a database to the current schema, safely when several processes start at once."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from tunix_rt.base.db.engine import reading, writing
from tunix_rt.base.db.schema import SCHEMA_HEAD
from tunix_rt.base.errors import StorageError

if TYPE_CHECKING:
    from alembic.config import Config

# An arbitrary constant that every process shares.
_MIGRATION_LOCK = 7_202_611


def ensure_schema(engine: Engine) -> None:
    """Upgrade the database to `SCHEMA_HEAD` if needed.

    Raises:
        StorageError: The database was created by a newer version of Tunix RT.
    """
    with reading(engine) as connection:
        revision = current_revision(connection)
    if revision == SCHEMA_HEAD:
        return
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
        revision = current_revision(connection)
        if revision is not None and revision > SCHEMA_HEAD:
            raise StorageError(
                f"The database has schema {revision}; this version of Tunix RT knows up to {SCHEMA_HEAD}.",
                next_step="Upgrade Tunix RT, or point TUNIX_RT_HOME to another directory.",
            )
        upgrade(connection, "head")


def upgrade(connection: Connection, revision: str) -> None:
    """Run the migrations up to `revision` within the connection's transaction."""
    # Imported here because it is slow to import and only needed for an outdated database.
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def current_revision(connection: Connection) -> str | None:
    """The current migration of the database; None if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def alembic_config() -> "Config":
    """Alembic's configuration, with the migrations that ship inside the package."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
