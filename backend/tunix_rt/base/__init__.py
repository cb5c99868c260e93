"""Shared by every feature: errors, settings, files, the database, HTTP and terminal helpers."""
