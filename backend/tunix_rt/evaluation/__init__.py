"""Evaluate a model on an eval set, compare evaluations, gate, judge, measure faithfulness."""
