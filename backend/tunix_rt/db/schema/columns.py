"""What every table is made of."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Integer, MetaData, TypeDecorator
from sqlalchemy.engine import Dialect


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC, timezone-aware on both databases (SQLite itself knows no time zones)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database, always in UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database, always aware."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """SQLite's text becomes a moment in one step: a page of runs has eighty of them."""
        return _moment if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


metadata = MetaData()

# SQLite only gives out rowids for a column that is exactly INTEGER.
PrimaryKey = BigInteger().with_variant(Integer, "sqlite")
