"""Background tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("device", sa.String(16), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("num_attempts", sa.Integer, nullable=False),
        sa.Column("num_failures", sa.Integer, nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True)),
        sa.Column("worker_id", sa.String(64)),
        sa.Column("lease", sa.String(32)),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("failure", sa.Text),
        sa.Column("result", sa.Text),
    )
    op.create_index("ix_tasks_status", "tasks", ["status", "pk"])
    op.create_index("ix_tasks_model", "tasks", ["model", "pk"])
