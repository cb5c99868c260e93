"""The queue: runs, what happened to them, and the workers that take them."""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

runs = Table(
    "runs",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", String(128), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("status", String(16), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("is_held", Boolean, nullable=False),
    Column("not_before", UtcDateTime),
    Column("recipe_name", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("mode", String(16), nullable=False),
    Column("engine", String(16), nullable=False),
    Column("device", String(16), nullable=False),
    Column("executor", String(16), nullable=False),
    Column("sweep_id", String(64)),
    Column("request", Text, nullable=False),
    Column("recipe", Text, nullable=False),
    Column("plan", Text),
    Column("num_attempts", Integer, nullable=False),
    Column("num_failures", Integer, nullable=False),
    Column("worker_id", String(64)),
    Column("lease", String(32)),
    Column("beats", Integer, nullable=False),
    Column("queued_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("exit_code", Integer),
    Column("failure", Text),
    Column("figures", Text),
    Column("num_events", Integer, nullable=False),
    Index("ix_runs_created_at", "created_at"),
    Index("ix_runs_status", "status", "created_at"),
    Index("ix_runs_dataset", "dataset", "created_at"),
    Index("ix_runs_sweep_id", "sweep_id"),
    Index("ix_runs_worker_id", "worker_id"),
)
# In the order in which workers take them: the first that fits is found without sorting the queue.
Index("ix_runs_queue", runs.c.status, runs.c.is_held, runs.c.priority.desc(), runs.c.pk)

run_events = Table(
    "run_events",
    metadata,
    Column(
        "run_pk",
        PrimaryKey,
        ForeignKey("runs.pk", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("time", UtcDateTime, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("message", Text, nullable=False),
    Column("details", Text, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_start", String(64), nullable=False),
    Column("version", String(64), nullable=False),
    Column("slots", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("last_seen_at", UtcDateTime, nullable=False),
    Column("beats", Integer, nullable=False),
)

service_flags = Table(
    "service_flags",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
)
