"""What is in a backup."""

from datetime import datetime
from typing import Literal

from tunix_rt.base.records import Count, Record


class ArchivedFile(Record):
    """One entry of the archive."""

    size_bytes: Count
    sha256: str
    is_read_only: bool = False


class ArchivedTable(ArchivedFile):
    """The rows of a table, one JSON object a line."""

    num_rows: Count


class BackupManifest(Record):
    """The last entry of a backup: with it the archive is complete."""

    backup_version: Literal["1"] = "1"
    created_at: datetime
    tunix_rt_version: str
    schema_revision: str
    database: str
    """Where the rows come from; they can go to any of the databases."""
    has_checkpoints: bool
    tables: dict[str, ArchivedTable]
    files: dict[str, ArchivedFile]
    """By their paths in the home directory."""

    @property
    def num_rows(self) -> int:
        """Rows of all tables."""
        return sum(table.num_rows for table in self.tables.values())

    @property
    def size_bytes(self) -> int:
        """Bytes of all entries, before they were packed."""
        return sum(entry.size_bytes for entry in (*self.tables.values(), *self.files.values()))
