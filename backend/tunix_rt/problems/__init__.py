"""Generators of verifiable worked problems for traces and eval items."""
