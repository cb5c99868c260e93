"""Tasks of the queue: ask for one, look at it, cancel it, fetch what it made."""
