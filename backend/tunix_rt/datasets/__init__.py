"""Datasets and eval sets: build, split, deduplicate, check for contamination, inspect, export."""
