"""Votes between the answers of two models."""

from sqlalchemy import Column, Index, String, Table, Text, Uuid

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

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
