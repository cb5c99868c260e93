"""Hyperparameter search with Optuna."""
