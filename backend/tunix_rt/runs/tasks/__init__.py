"""Evaluate or export a finished model in the background."""
