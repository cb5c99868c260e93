"""Runs as a service: submit, list, control, follow."""
