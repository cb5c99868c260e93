"""Fixtures that train with the torch engine."""

from support.training import workspace_fixture

workspace = workspace_fixture("torch")
