"""Gate history."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "gate_checks",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("baseline", sa.String(128), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    op.create_index("ix_gate_checks_baseline", "gate_checks", ["baseline", "checked_at"])
    op.create_index("ix_gate_checks_checked_at", "gate_checks", ["checked_at"])
