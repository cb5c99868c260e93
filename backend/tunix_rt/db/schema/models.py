"""The registry: models, their versions, and the names that point to them."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, String, Table, Text, Uuid

from tunix_rt.db.schema.columns import PrimaryKey, UtcDateTime, metadata

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
    Column(
        "model_pk",
        PrimaryKey,
        ForeignKey("models.pk", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("alias", String(64), primary_key=True),
    Column("version_pk", PrimaryKey, ForeignKey("model_versions.pk"), nullable=False),
    Column("moved_at", UtcDateTime, nullable=False),
    Index("ix_model_aliases_version_pk", "version_pk"),
)

model_tags = Table(
    "model_tags",
    metadata,
    Column(
        "version_pk",
        PrimaryKey,
        ForeignKey("model_versions.pk", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
