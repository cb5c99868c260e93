"""What workers do with finished models."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, Uuid

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

# Without foreign keys: a task stays on record when its model is removed.
tasks = Table(
    "tasks",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("model", Text, nullable=False),
    Column("device", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("request", Text, nullable=False),
    Column("num_attempts", Integer, nullable=False),
    Column("num_failures", Integer, nullable=False),
    Column("not_before", UtcDateTime),
    Column("worker_id", String(64)),
    Column("lease", String(32)),
    Column("beats", Integer, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("failure", Text),
    Column("result", Text),
    Index("ix_tasks_status", "status", "pk"),
    Index("ix_tasks_model", "model", "pk"),
)
