"""Every family gives the logits of transformers, which is the oracle: eager attention, float32."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.tiny_models import CONFIGS, architecture_of, engine_params, tiny_model

from tunix_rt.engines.jax.model import ForwardOptions, Inputs, logits

OPTIONS = ForwardOptions("float32")
LENGTHS = (11, 3, 8, 24)  # Longer and shorter than the windows; three fill a row, the last is padded.
ROW = 24


def _examples() -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(0)
    return [rng.integers(1, 96, size=length, dtype=np.int32) for length in LENGTHS]


def _packed(rows: list[list[NDArray[np.int32]]]) -> Inputs:
    tokens, segment_ids, positions = (np.zeros((len(rows), ROW), np.int32) for _ in range(3))
    for row, examples in enumerate(rows):
        start = 0
        for segment, ids in enumerate(examples, start=1):
            place = slice(start, start + len(ids))
            tokens[row, place], segment_ids[row, place] = ids, segment
            positions[row, place] = np.arange(len(ids))
            start = place.stop
    return Inputs(tokens, segment_ids, positions)


@pytest.mark.parametrize("name", CONFIGS)
def test_packed_and_padded_logits_are_those_of_each_example_alone(name: str) -> None:
    model = tiny_model(name)
    architecture = architecture_of(model)
    params = engine_params(model, architecture)
    first, second, third, long = _examples()

    ours = np.asarray(
        logits(params, None, architecture, _packed([[first, second, third], [long], [third]]), OPTIONS)
    )

    places = [(0, 0, first), (0, 11, second), (0, 14, third), (1, 0, long), (2, 0, third)]
    for row, start, ids in places:
        with torch.no_grad():
            theirs = model(torch.from_numpy(ids[None]).long()).logits[0].numpy()
        np.testing.assert_allclose(ours[row, start : start + len(ids)], theirs, atol=1e-4, rtol=1e-4)
