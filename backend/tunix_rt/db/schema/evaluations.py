"""Evaluations, their predictions, and the baselines among them."""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, String, Table, Text, Uuid

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

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
    Column(
        "evaluation_pk",
        PrimaryKey,
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
