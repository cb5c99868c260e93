"""The command tree and process entry points."""
