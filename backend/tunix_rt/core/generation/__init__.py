"""Seeded generators of worked problems: pure, exact, the same on every machine."""
