"""SQL: the queue."""
