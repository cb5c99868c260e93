"""Train now or queue a run; workers, live views, background tasks."""
