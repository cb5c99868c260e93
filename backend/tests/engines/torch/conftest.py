"""Trainings of these tests run on the torch engine."""

from support.training import workshop_fixture

workshop = workshop_fixture("torch")
