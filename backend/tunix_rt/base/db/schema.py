"""All tables; Alembic compares them with the migrations.

traces ──┬── trace_bodies      the canonical JSON, apart, so that lists read small rows
         ├── trace_index       words and meta labels (FTS5 on SQLite, tsvector on PostgreSQL)
         ├── trace_reports     whole lint reports
         └── trace_lint_codes  lint findings, one row each

evaluations ──┬── predictions  completions, one row per item and sample
              └── baselines    named evaluations, each with the rule of its gate
gate_checks                    every verdict of a gate; kept when its evaluations are removed

runs ──── run_events           events of queue and workers; the engine's own are in files
workers   service_flags        workers; whether the queue is paused
tasks                          evaluations and exports for workers; their files are in tasks/
models ──┬── model_versions ── model_tags
         └── model_aliases     names that move from version to version
sweeps ──┬── sweep_trials      each an ordinary run
         └── sweep_journal     the sampler's journal
preferences                    which of two answers was preferred; kept when a model is removed
api_tokens                     hashes of access tokens
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
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


class UtcDateTime(TypeDecorator[datetime]):
    """A UTC datetime, timezone-aware on both databases (SQLite has no time zones)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To the database, always in UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database, always aware."""
        return as_utc(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """Convert in one step, because a page of runs has eighty of them."""
        return as_utc


def as_utc(value: str | datetime | None) -> datetime | None:
    """A UTC datetime from the driver's value, which is text on SQLite."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()

# SQLite only gives out rowids for a column that is exactly INTEGER.
PrimaryKey = BigInteger().with_variant(Integer, "sqlite")


def _parent_key(name: str, parent: str) -> Column[int]:
    """The part of a primary key that refers to the parent's row, with which this row is deleted."""
    reference = ForeignKey(parent, ondelete="CASCADE")
    return Column(name, PrimaryKey, reference, primary_key=True, autoincrement=False)


api_tokens = Table(
    "api_tokens",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scope", String(16), nullable=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("last_used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
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
    _parent_key("evaluation_pk", "evaluations.pk"),
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
    Column("evaluation_pk", PrimaryKey, ForeignKey("evaluations.pk"), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("rule", Text, nullable=False),
    Index("ix_baselines_evaluation_pk", "evaluation_pk"),
)

# Without foreign keys: a verdict stays on record when its baseline or evaluation is removed.
gate_checks = Table(
    "gate_checks",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("baseline", String(128), nullable=False),
    Column("checked_at", UtcDateTime, nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_gate_checks_baseline", "baseline", "checked_at"),
    Index("ix_gate_checks_checked_at", "checked_at"),
)

models = Table(
    "models",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("name", String(256), nullable=False, unique=True),
    Column("description", Text),
    Column("task_type", String(64)),
    Column("last_version", Integer, nullable=False),  # a number is never given out again
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

model_versions = Table(
    "model_versions",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("model_pk", PrimaryKey, ForeignKey("models.pk", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("label", String(64)),
    Column("kind", String(16), nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("num_files", Integer, nullable=False),
    Column("source_run_id", String(128)),
    Column("source_step", Integer),
    Column("base_model", Text),
    Column("dataset", Text),
    Column("notes", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_model_versions_version", "model_pk", "version", unique=True),
    Index("ix_model_versions_label", "model_pk", "label", unique=True),
    Index("ix_model_versions_content_hash", "content_hash"),
    Index("ix_model_versions_source_run_id", "source_run_id"),
)

model_aliases = Table(
    "model_aliases",
    metadata,
    _parent_key("model_pk", "models.pk"),
    Column("alias", String(64), primary_key=True),
    Column("version_pk", PrimaryKey, ForeignKey("model_versions.pk"), nullable=False),
    Column("moved_at", UtcDateTime, nullable=False),
    Index("ix_model_aliases_version_pk", "version_pk"),
)

model_tags = Table(
    "model_tags",
    metadata,
    _parent_key("version_pk", "model_versions.pk"),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

# Without foreign keys: a vote stays on record when one of its models is removed.
preferences = Table(
    "preferences",
    metadata,
    Column("pk", PrimaryKey, primary_key=True),
    Column("id", Uuid, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("model_a", Text, nullable=False),
    Column("model_b", Text, nullable=False),
    Column("choice", String(16), nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_preferences_created_at", "created_at"),
    Index("ix_preferences_models", "model_a", "model_b", "choice"),
)

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
    _parent_key("run_pk", "runs.pk"),
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
    _parent_key("sweep_pk", "sweeps.pk"),
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
    _parent_key("sweep_pk", "sweeps.pk"),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("record", Text, nullable=False),
)

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
    "trace_bodies", metadata, _parent_key("pk", "traces.pk"), Column("canonical", Text, nullable=False)
)

trace_reports = Table(
    "trace_reports",
    metadata,
    _parent_key("pk", "traces.pk"),
    Column("scored_at", UtcDateTime, nullable=False),
    Column("report", Text, nullable=False),
)

trace_lint_codes = Table(
    "trace_lint_codes",
    metadata,
    Column("code", String(64), primary_key=True),
    _parent_key("pk", "traces.pk"),
    Index("ix_trace_lint_codes_pk", "pk"),
    sqlite_with_rowid=False,
)

SCHEMA_HEAD = "0006"
"""The newest migration: what the code in this tree expects to find."""
