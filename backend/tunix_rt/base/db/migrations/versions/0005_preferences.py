"""Preference votes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "preferences",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("model_a", sa.Text, nullable=False),
        sa.Column("model_b", sa.Text, nullable=False),
        sa.Column("choice", sa.String(16), nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_index("ix_preferences_created_at", "preferences", ["created_at"])
    op.create_index("ix_preferences_models", "preferences", ["model_a", "model_b", "choice"])
