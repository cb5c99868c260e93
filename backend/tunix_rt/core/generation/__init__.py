"""Seeded generators of worked problems: pure, exact, the same on every machine."""

from tunix_rt.core.generation.family import Family, Worked
from tunix_rt.core.generation.generate import DEFAULT_SOURCE, FAMILIES, generate, known_family

__all__ = ["DEFAULT_SOURCE", "FAMILIES", "Family", "Worked", "generate", "known_family"]
