"""Eval sets and the checks that make them fit to measure with."""
