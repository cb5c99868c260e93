"""Grades by a judge model behind an OpenAI-compatible endpoint."""
