"""The home directory with its open database; each feature builds its own store on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tunix_rt.base.db.engine import Database, open_engine, sqlite_file
from tunix_rt.base.db.migrate import ensure_schema
from tunix_rt.base.files.atomic import storage_errors
from tunix_rt.base.settings import Settings, load_settings


@dataclass(frozen=True, eq=False)
class Home:
    """The home directory and its database, on which each feature builds its own repositories."""

    settings: Settings
    database: Database

    def close(self) -> None:
        """Close the connections."""
        self.database.dispose()


def open_home(settings: Settings) -> Home:
    """Open the home of `settings`, creating or upgrading it if needed.

    Raises:
        StorageError: The home directory is not writable, or the database does not answer.
    """
    with storage_errors("creating the home directory"):
        # Others on this machine must not read it. An existing directory keeps the mode that its owner chose.
        settings.home_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = sqlite_file(settings.resolved_database_url)
        if path is not None and path.parent.is_dir() and not path.exists():
            path.touch(mode=0o600)  # its journals get the same mode
    database = open_engine(settings.resolved_database_url)
    ensure_schema(database)
    return Home(settings, database)


@contextmanager
def opened_home() -> Iterator[Home]:
    """The home of the environment's settings, closed on exit."""
    home = open_home(load_settings())
    try:
        yield home
    finally:
        home.close()
