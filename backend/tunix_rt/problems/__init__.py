"""Generators of verifiable worked problems: traces and eval items made by code."""
