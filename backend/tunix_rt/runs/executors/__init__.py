"""Where a job's process runs."""
