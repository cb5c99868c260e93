"""Traces, their bodies and what the linter said of them."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, String, Table, Text, Uuid

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata


def _trace_pk() -> Column[int]:
    reference = ForeignKey("traces.pk", ondelete="CASCADE")
    return Column("pk", PrimaryKey, reference, primary_key=True, nullable=False, autoincrement=False)


traces = Table(
    "traces",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
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
