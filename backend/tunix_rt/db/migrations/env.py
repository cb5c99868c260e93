"""Alembic's entry: runs on the connection that `tunix_rt.db.migrate` hands over."""

from alembic import context

from tunix_rt.db.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
