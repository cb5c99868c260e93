"""Packed rows of examples, and the logits of whole rows."""

from collections.abc import Sequence

import numpy as np
from jax import Array
from numpy.typing import NDArray

from tunix_rt.engines.jax.model.decoder import ForwardOptions, Inputs, head_logits, hidden_states
from tunix_rt.engines.jax.model.params import Params
from tunix_rt.engines.weights.architecture import Architecture


def packed_rows(rows: Sequence[Sequence[NDArray[np.int32]]], row_length: int) -> Inputs:
    """Pack the examples of each row, then pad: examples of 2 and 1 tokens in 4 -> segments 1 1 2 0."""
    tokens, segment_ids, positions = (np.zeros((len(rows), row_length), np.int32) for _ in range(3))
    for row, examples in enumerate(rows):
        start = 0
        for segment, example in enumerate(examples, start=1):
            place = slice(start, start + len(example))
            tokens[row, place], segment_ids[row, place] = example, segment
            positions[row, place] = np.arange(len(example))
            start = place.stop
    return Inputs(tokens, segment_ids, positions)


def logits(
    params: Params,
    adapters: Params | None,
    architecture: Architecture,
    inputs: Inputs,
    options: ForwardOptions,
) -> Array:
    """Return all logits, float32 [B, T, V], which training never materializes."""
    return head_logits(params, architecture, hidden_states(params, adapters, architecture, inputs, options))
