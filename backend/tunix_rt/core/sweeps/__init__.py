"""Sweeps: what is searched, where the search stands, and what its trials gave."""
