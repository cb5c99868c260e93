"""The only SQL: tables, migrations and repositories that take and return core types."""
