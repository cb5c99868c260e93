"""The tables. Migrations make them; repositories are the only readers and writers.

traces ──┬── trace_bodies      the canonical JSON, apart, so that lists read small rows
         ├── trace_index       words and meta labels (FTS5 on SQLite, tsvector on PostgreSQL)
         ├── trace_reports     what the linter said, whole
         └── trace_lint_codes  which findings it made, one row each

evaluations ──┬── predictions  what was written for each item, one row a sample
              └── baselines    named ones, each with the rule that a new evaluation must pass
"""

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    Uuid,
)
from sqlalchemy.engine import Dialect

SCHEMA_HEAD = "0002"
"""The newest migration: what the code in this tree expects to find."""


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


metadata = MetaData()

# SQLite only gives out rowids for a column that is exactly INTEGER.
_PrimaryKey = BigInteger().with_variant(Integer, "sqlite")


def _trace_pk() -> Column[int]:
    reference = ForeignKey("traces.pk", ondelete="CASCADE")
    return Column("pk", _PrimaryKey, reference, primary_key=True, nullable=False, autoincrement=False)


traces = Table(
    "traces",
    metadata,
    Column("pk", _PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("trace_version", String(64), nullable=False),
    Column("prompt_start", String(200), nullable=False),
    Column("num_steps", Integer, nullable=False),
    Column("source", String(256)),
    Column("score", Float),
    Column("linter_version", String(64)),
    Index("ix_traces_score", "score", "pk"),
)

trace_bodies = Table(
    "trace_bodies",
    metadata,
    _trace_pk(),
    Column("canonical", Text, nullable=False),
)

trace_reports = Table(
    "trace_reports",
    metadata,
    _trace_pk(),
    Column("scored_at", UtcDateTime, nullable=False),
    Column("report", Text, nullable=False),
)

trace_lint_codes = Table(
    "trace_lint_codes",
    metadata,
    Column("code", String(64), primary_key=True),
    _trace_pk(),
    Index("ix_trace_lint_codes_pk", "pk"),
    sqlite_with_rowid=False,
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("pk", _PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("evalset", Text, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("model_name", Text, nullable=False),
    Column("run_id", Text),
    Column("base_model", Text),
    Column("dataset", Text),
    Column("recipe", Text),
    Column("primary_score", Float),
    Column("summary", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_evaluations_created_at", "created_at"),
    Index("ix_evaluations_primary_score", "primary_score"),
    Index("ix_evaluations_run_id", "run_id"),
)

predictions = Table(
    "predictions",
    metadata,
    Column(
        "evaluation_pk",
        _PrimaryKey,
        ForeignKey("evaluations.pk", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("item_id", String(128), nullable=False),
    Column("sample", Integer, nullable=False),
    Column("verdict", String(16), nullable=False),
    Column("section", String(64), nullable=False),
    Column("category", String(64), nullable=False),
    Column("difficulty", String(64), nullable=False),
    Column("rule", String(32)),
    Column("searched", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_predictions_item", "evaluation_pk", "item_id", "sample", unique=True),
    Index("ix_predictions_verdict", "evaluation_pk", "verdict", "position"),
    Index("ix_predictions_section", "evaluation_pk", "section", "position"),
    Index("ix_predictions_category", "evaluation_pk", "category", "position"),
)

baselines = Table(
    "baselines",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("evaluation_pk", _PrimaryKey, ForeignKey("evaluations.pk"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("rule", Text, nullable=False),
    Index("ix_baselines_evaluation_pk", "evaluation_pk"),
)
