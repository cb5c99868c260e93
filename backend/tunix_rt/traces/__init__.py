"""Reasoning traces: the type, import and export formats, the linter, review, the store."""
