"""Ratios and accuracy, measured side by side; never timed tests."""
