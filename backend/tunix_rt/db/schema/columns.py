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
        return as_moment(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """What a driver gives becomes a moment in one step: a page of runs has eighty of them."""
        return as_moment


def as_moment(value: str | datetime | None) -> datetime | None:
    """A moment as a driver gives it, a text on SQLite, in UTC."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()

# SQLite only gives out rowids for a column that is exactly INTEGER.
PrimaryKey = BigInteger().with_variant(Integer, "sqlite")
