"""Runs queue, model registry, sweeps, access tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

PK = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _create_runs()
    _create_run_events()
    _create_workers()
    _create_service_flags()
    _create_models()
    _create_model_versions()
    _create_model_aliases()
    _create_model_tags()
    _create_sweeps()
    _create_sweep_trials()
    _create_sweep_journal()
    _create_api_tokens()


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.String(128), nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("is_held", sa.Boolean, nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True)),
        sa.Column("recipe_name", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("mode", sa.String(16), nullable=False),
        sa.Column("engine", sa.String(16), nullable=False),
        sa.Column("device", sa.String(16), nullable=False),
        sa.Column("executor", sa.String(16), nullable=False),
        sa.Column("sweep_id", sa.String(64)),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("plan", sa.Text),
        sa.Column("num_attempts", sa.Integer, nullable=False),
        sa.Column("num_failures", sa.Integer, nullable=False),
        sa.Column("worker_id", sa.String(64)),
        sa.Column("lease", sa.String(32)),
        sa.Column("beats", sa.Integer, nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("exit_code", sa.Integer),
        sa.Column("failure", sa.Text),
        sa.Column("figures", sa.Text),
        sa.Column("num_events", sa.Integer, nullable=False),
    )
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_index("ix_runs_status", "runs", ["status", "created_at"])
    op.create_index("ix_runs_dataset", "runs", ["dataset", "created_at"])
    op.create_index("ix_runs_queue", "runs", ["status", "is_held", sa.text("priority DESC"), "pk"])
    op.create_index("ix_runs_sweep_id", "runs", ["sweep_id"])
    op.create_index("ix_runs_worker_id", "runs", ["worker_id"])


def _create_run_events() -> None:
    op.create_table(
        "run_events",
        sa.Column(
            "run_pk", PK, sa.ForeignKey("runs.pk", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )


def _create_workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("process_start", sa.String(64), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("slots", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beats", sa.Integer, nullable=False),
    )


def _create_service_flags() -> None:
    op.create_table(
        "service_flags",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
    )


def _create_models() -> None:
    op.create_table(
        "models",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("name", sa.String(256), nullable=False, unique=True),
        sa.Column("description", sa.Text),
        sa.Column("task_type", sa.String(64)),
        sa.Column("last_version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )


def _create_model_versions() -> None:
    op.create_table(
        "model_versions",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.Uuid, nullable=False, unique=True),
        sa.Column("model_pk", PK, sa.ForeignKey("models.pk", ondelete="CASCADE"), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("label", sa.String(64)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("num_files", sa.Integer, nullable=False),
        sa.Column("source_run_id", sa.String(128)),
        sa.Column("source_step", sa.Integer),
        sa.Column("base_model", sa.Text),
        sa.Column("dataset", sa.Text),
        sa.Column("notes", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_model_versions_content_hash", "model_versions", ["content_hash"])
    op.create_index("ix_model_versions_label", "model_versions", ["model_pk", "label"], unique=True)
    op.create_index("ix_model_versions_source_run_id", "model_versions", ["source_run_id"])
    op.create_index("ix_model_versions_version", "model_versions", ["model_pk", "version"], unique=True)


def _create_model_aliases() -> None:
    op.create_table(
        "model_aliases",
        sa.Column(
            "model_pk",
            PK,
            sa.ForeignKey("models.pk", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("alias", sa.String(64), primary_key=True),
        sa.Column("version_pk", PK, sa.ForeignKey("model_versions.pk"), nullable=False),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_model_aliases_version_pk", "model_aliases", ["version_pk"])


def _create_model_tags() -> None:
    op.create_table(
        "model_tags",
        sa.Column(
            "version_pk",
            PK,
            sa.ForeignKey("model_versions.pk", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def _create_sweeps() -> None:
    op.create_table(
        "sweeps",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.String(64), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("best_run_id", sa.String(128)),
        sa.Column("failure", sa.Text),
        sa.Column("worker_id", sa.String(64)),
    )
    op.create_index("ix_sweeps_created_at", "sweeps", ["created_at"])
    op.create_index("ix_sweeps_status", "sweeps", ["status"])


def _create_sweep_trials() -> None:
    op.create_table(
        "sweep_trials",
        sa.Column(
            "sweep_pk",
            PK,
            sa.ForeignKey("sweeps.pk", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("run_id", sa.String(128)),
        sa.Column("params", sa.Text, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("value", sa.Float),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
    )
    op.create_index("ix_sweep_trials_run_id", "sweep_trials", ["run_id"])


def _create_sweep_journal() -> None:
    op.create_table(
        "sweep_journal",
        sa.Column(
            "sweep_pk",
            PK,
            sa.ForeignKey("sweeps.pk", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("record", sa.Text, nullable=False),
    )


def _create_api_tokens() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("pk", PK, primary_key=True),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", sa.String(16), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
    )
