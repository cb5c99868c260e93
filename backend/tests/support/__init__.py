"""Builders, fakes and helpers that tests and benchmarks share."""
