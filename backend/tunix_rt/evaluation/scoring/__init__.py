"""Extraction, checking and scores."""
