"""Evaluations, predictions, baselines."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_evaluations()
    _create_predictions()
    _create_baselines()


def _create_evaluations() -> None:
    op.create_table(
        "evaluations",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("evalset", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("model_name", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("base_model", sa.Text),
        sa.Column("dataset", sa.Text),
        sa.Column("recipe", sa.Text),
        sa.Column("primary_score", sa.Float),
        sa.Column("summary", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    for column in ("created_at", "primary_score", "run_id"):
        op.create_index(f"ix_evaluations_{column}", "evaluations", [column])


def _create_predictions() -> None:
    reference = sa.ForeignKey("evaluations.pk", ondelete="CASCADE")
    op.create_table(
        "predictions",
        sa.Column("evaluation_pk", PK, reference, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("item_id", sa.String(128), nullable=False),
        sa.Column("sample", sa.Integer, nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("section", sa.String(64), nullable=False),
        sa.Column("category", sa.String(64), nullable=False),
        sa.Column("difficulty", sa.String(64), nullable=False),
        sa.Column("rule", sa.String(32)),
        # Prompt, expected answer and completion in lower case, for searching.
        sa.Column("searched", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_index("ix_predictions_item", "predictions", ["evaluation_pk", "item_id", "sample"], unique=True)
    for column in ("verdict", "section", "category"):
        op.create_index(f"ix_predictions_{column}", "predictions", ["evaluation_pk", column, "position"])


def _create_baselines() -> None:
    op.create_table(
        "baselines",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("evaluation_pk", PK, sa.ForeignKey("evaluations.pk"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
    )
    op.create_index("ix_baselines_evaluation_pk", "baselines", ["evaluation_pk"])
