"""dev-reasoning-v2: 550 traces for development, most of them multi-step reasoning."""

from collections.abc import Iterator

from tunix_rt.core.generation.edge_cases import EDGE_CASES
from tunix_rt.core.generation.family import Category, worked_trace
from tunix_rt.core.generation.generate import FAMILIES, generate
from tunix_rt.core.trace import Trace

DEV_DATASET = "dev-reasoning-v2"
DEV_SEED = 42
# With the 20 edge cases: 70 % reasoning, 20 % synthetic, 10 % golden-style and edge cases.
_GENERATED: tuple[tuple[Category, int], ...] = (("reasoning", 385), ("synthetic", 110), ("golden_style", 35))


def dev_reasoning_traces() -> Iterator[Trace]:
    """The traces by category, each prompt once."""
    for category, count in _GENERATED:
        names = [family.name for family in FAMILIES.values() if family.category == category]
        yield from generate(names, count, DEV_SEED, source=DEV_DATASET)
    for index, worked in enumerate(EDGE_CASES):
        yield worked_trace(
            worked,
            {
                "source": DEV_DATASET,
                "category": "edge_case",
                "topic": "edge_case",
                "generator": "edge_cases",
                "seed": DEV_SEED,
                "index": index,
            },
        )
