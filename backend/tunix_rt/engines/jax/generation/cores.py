"""The rows of a small model, shared out to the cores of a CPU: a batch for each, side by side.

XLA computes a small product on one core. A small model therefore leaves the other cores idle, however many
rows it writes; in several batches, each core has rows of its own. The products of a large model are split
over the cores by XLA itself, and every batch would only read its weights from memory once more.
"""

from tunix_rt.base.host import usable_cores

STEPS_OF_SMALL_MODELS = 256
"""Tokens between two looks, at most: a tenth of a second. A look ends earlier when there is room for the next
prompts; with fewer tokens, many cores wait for the one thread at a time that Python lets ask for more."""

# Two batches of two rows are no faster than one of four.
_FEWEST_ROWS = 4
# What the cache of one core can hold, more or less.
_MOST_WEIGHT_BYTES = 8 * 2**20


def is_small_model(weight_bytes: int) -> bool:
    """Whether one core computes its products."""
    return weight_bytes <= _MOST_WEIGHT_BYTES


def num_batches(num_rows: int, num_cores: int | None = None) -> int:
    """Batches of a small model for so many rows, all of the same size.

    Example:
        32 rows -> 2 with 2 cores, 8 with 8 or more
    """
    most = min(num_cores or usable_cores(), num_rows // _FEWEST_ROWS)
    return next((number for number in range(most, 1, -1) if num_rows % number == 0), 1)
