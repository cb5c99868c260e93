"""Rows filled with examples, as the engine takes them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.decoder import Inputs


def packed_rows(rows: Sequence[Sequence[NDArray[np.int32]]], row_length: int) -> Inputs:
    """Each row's examples side by side, then padding: two examples of 2 and 1 tokens in 4 -> 1 1 2 0."""
    tokens, segment_ids, positions = (np.zeros((len(rows), row_length), np.int32) for _ in range(3))
    for row, examples in enumerate(rows):
        start = 0
        for segment, example in enumerate(examples, start=1):
            place = slice(start, start + len(example))
            tokens[row, place], segment_ids[row, place] = example, segment
            positions[row, place] = np.arange(len(example))
            start = place.stop
    return Inputs(tokens, segment_ids, positions)
