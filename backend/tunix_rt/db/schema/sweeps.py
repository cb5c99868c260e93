"""Sweeps, their trials, and the journal that the sampler keeps."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, String, Table, Text

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata


def _sweep_pk() -> Column[int]:
    reference = ForeignKey("sweeps.pk", ondelete="CASCADE")
    return Column("sweep_pk", PrimaryKey, reference, primary_key=True, autoincrement=False)


sweeps = Table(
    "sweeps",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("spec", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("best_run_id", String(128)),
    Column("failure", Text),
    Column("worker_id", String(64)),
    Index("ix_sweeps_status", "status"),
    Index("ix_sweeps_created_at", "created_at"),
)

sweep_trials = Table(
    "sweep_trials",
    metadata,
    _sweep_pk(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("run_id", String(128)),
    Column("params", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("value", Float),
    Column("error", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Index("ix_sweep_trials_run_id", "run_id"),
)

sweep_journal = Table(
    "sweep_journal",
    metadata,
    _sweep_pk(),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("record", Text, nullable=False),
)
