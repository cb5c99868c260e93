"""Recipes as Kaggle notebooks."""
