"""Grades by a rubric from any OpenAI-compatible endpoint."""
