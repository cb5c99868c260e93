"""Traces, labels, lint reports, full-text index."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _trace_pk() -> sa.Column[int]:
    reference = sa.ForeignKey("traces.pk", ondelete="CASCADE")
    return sa.Column("pk", PK, reference, primary_key=True, nullable=False, autoincrement=False)


def upgrade() -> None:
    _create_traces()
    _create_reports()
    _create_index()


def _create_traces() -> None:
    op.create_table(
        "traces",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("trace_version", sa.String(64), nullable=False),
        sa.Column("prompt_start", sa.String(200), nullable=False),
        sa.Column("num_steps", sa.Integer, nullable=False),
        sa.Column("source", sa.String(256)),
        sa.Column("score", sa.Float),
        sa.Column("linter_version", sa.String(64)),
    )
    op.create_index("ix_traces_score", "traces", ["score", "pk"])
    op.create_table(
        "trace_bodies",
        _trace_pk(),
        sa.Column("canonical", sa.Text, nullable=False),
    )


def _create_reports() -> None:
    op.create_table(
        "trace_reports",
        _trace_pk(),
        sa.Column("scored_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    op.create_table(
        "trace_lint_codes",
        sa.Column("code", sa.String(64), primary_key=True),
        _trace_pk(),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_trace_lint_codes_pk", "trace_lint_codes", ["pk"])


def _create_index() -> None:
    if op.get_bind().dialect.name == "sqlite":
        # The text is in trace_bodies already: an index without a copy of it.
        op.execute("CREATE VIRTUAL TABLE trace_index USING fts5(tokens, content='', detail=none)")
        return
    op.execute(
        "CREATE TABLE trace_index ("
        " pk bigint PRIMARY KEY REFERENCES traces (pk) ON DELETE CASCADE, tokens tsvector NOT NULL)"
    )
    # Out of line: counting matches reads small rows, and nothing ever reads the tokens themselves.
    op.execute("ALTER TABLE trace_index ALTER COLUMN tokens SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE trace_index SET (toast_tuple_target = 128)")
    op.execute("CREATE INDEX ix_trace_index_tokens ON trace_index USING gin (tokens)")
