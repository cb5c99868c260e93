"""Takes queued runs, supervises engine processes, records outcomes."""
