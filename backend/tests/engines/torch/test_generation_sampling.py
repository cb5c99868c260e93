"""Sampling from known distributions with the torch engine."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.generation.scheduler import noise_key
from tunix_rt.engines.torch.generation.generator import (
    is_in_nucleus,
    sample_tokens,
    uniform_draws,
)
from tunix_rt.engines.types import Decoding

PROBABILITIES = np.array([0.5, 0.25, 0.15, 0.07, 0.03])
NUM_DRAWS = 4_000
# The 99.9 % quantile of the chi-square distribution with 4 degrees of freedom.
CHI_SQUARE_BOUND = 18.47


def draw_tokens(temperature: float, top_p: float = 1.0, *, num_positions: int = 1) -> NDArray[np.int64]:
    """Sample NUM_DRAWS tokens, at `num_positions` positions of each prompt."""
    keys = [noise_key(Prompt(str(number), [0]), seed=11) for number in range(NUM_DRAWS // num_positions)]
    logits = torch.tensor(np.log(PROBABILITIES), dtype=torch.float32).tile((NUM_DRAWS, 1))
    numbers = uniform_draws(keys, num_positions).flatten()
    return sample_tokens(Decoding(temperature=temperature, top_p=top_p), logits, numbers).numpy()


def chi_square(tokens: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    counts = np.bincount(tokens, minlength=len(probabilities))
    expected = probabilities * len(tokens)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_match_tempered_distribution(temperature: float) -> None:
    tempered = PROBABILITIES ** (1 / temperature)
    assert chi_square(draw_tokens(temperature), tempered / tempered.sum()) < CHI_SQUARE_BOUND


def test_positions_draw_independently() -> None:
    tokens = draw_tokens(1.0, num_positions=40)
    assert chi_square(tokens, PROBABILITIES) < CHI_SQUARE_BOUND
    by_prompt = tokens.reshape(-1, 40)
    assert len({tuple(row) for row in by_prompt.tolist()}) == len(by_prompt)


def test_top_p_keeps_ratios_without_tail() -> None:
    tokens = draw_tokens(1.0, top_p=0.7)
    assert set(tokens.tolist()) == {0, 1}
    assert abs((tokens == 0).mean() - 2 / 3) < 0.03


def test_tiny_temperature_is_greedy() -> None:
    assert set(draw_tokens(1e-30).tolist()) == {0}
    assert set(draw_tokens(0).tolist()) == {0}


def test_extreme_draws_pick_possible_tokens() -> None:
    logits = torch.tensor([[0.0, 0.0, -1000.0, -1000.0]])
    largest = torch.tensor([1 - 2**-24])
    assert sample_tokens(Decoding(temperature=1.0), logits, largest).tolist() == [1]
    assert sample_tokens(Decoding(temperature=1.0), logits, torch.tensor([0.0])).tolist() == [0]


def test_large_vocabulary_keeps_tail_probability() -> None:
    num_tokens = 262_144
    logits = torch.zeros(1, num_tokens)
    logits[0, 0] = float(np.log(num_tokens - 1))  # as likely as all the others together
    middle_of_tail = torch.tensor([0.75])
    [chosen] = sample_tokens(Decoding(temperature=1.0), logits, middle_of_tail).tolist()
    assert abs(chosen - num_tokens / 2) < 0.001 * num_tokens


@pytest.mark.parametrize(
    ("top_p", "expected"),
    [
        (0.5, [True, False, False, False, False]),
        (0.51, [True, True, False, False, False]),
        (0.9, [True, True, True, False, False]),
        (0.95, [True, True, True, True, False]),
        (0.999, [True, True, True, True, True]),
        (1e-6, [True, False, False, False, False]),
    ],
)
def test_nucleus_is_smallest_sufficient_set(top_p: float, expected: list[bool]) -> None:
    probabilities = torch.tensor(PROBABILITIES, dtype=torch.float32)[None]
    assert is_in_nucleus(probabilities, top_p)[0].tolist() == expected


def test_nucleus_includes_ties() -> None:
    probabilities = torch.tensor([[0.1, 0.5, 0.1, 0.3]])
    assert is_in_nucleus(probabilities, 0.85)[0].tolist() == [True, True, True, True]
