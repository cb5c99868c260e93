"""Fixtures that train with the torch engine."""

from support.training import workshop_fixture

workshop = workshop_fixture("torch")
