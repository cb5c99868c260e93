"""Alembic's entry point."""

from alembic import context

from tunix_rt.base.db.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
