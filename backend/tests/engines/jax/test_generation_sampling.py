"""Sampling from known distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from tunix_rt.engines.generation.base import Prompt
from tunix_rt.engines.generation.scheduler import noise_key
from tunix_rt.engines.jax.generation.steps import SamplingParams, is_in_nucleus, sample_tokens

PROBABILITIES = np.array([0.5, 0.25, 0.15, 0.07, 0.03])
NUM_DRAWS = 4_000
# The 99.9 % quantile of the chi-square distribution with 4 degrees of freedom.
CHI_SQUARE_BOUND = 18.47


def draw_tokens(temperature: float, top_p: float = 1.0, *, num_positions: int = 1) -> NDArray[np.int32]:
    """Sample tokens for many prompts, at `num_positions` positions each."""
    keys = [noise_key(Prompt(str(number), [0]), seed=11) for number in range(NUM_DRAWS // num_positions)]
    keys_and_positions = [(key, position) for key in keys for position in range(num_positions)]
    return np.asarray(
        jax.jit(sample_tokens, static_argnums=0)(
            SamplingParams(temperature, top_p),
            jnp.tile(jnp.log(jnp.asarray(PROBABILITIES, jnp.float32)), (NUM_DRAWS, 1)),
            jnp.asarray([key for key, _ in keys_and_positions]),
            jnp.asarray([position for _, position in keys_and_positions]),
        )
    )


def chi_square(tokens: NDArray[np.int32], probabilities: NDArray[np.float64]) -> float:
    counts = np.bincount(tokens, minlength=len(probabilities))
    expected = probabilities * len(tokens)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_tempered_distribution(temperature: float) -> None:
    tempered = PROBABILITIES ** (1 / temperature)
    assert chi_square(draw_tokens(temperature), tempered / tempered.sum()) < CHI_SQUARE_BOUND


def test_positions_draw_independently() -> None:
    tokens = draw_tokens(1.0, num_positions=40)
    assert chi_square(tokens, PROBABILITIES) < CHI_SQUARE_BOUND
    by_text = tokens.reshape(-1, 40)
    assert len({tuple(text) for text in by_text.tolist()}) == len(by_text)


def test_top_p_renormalizes_nucleus() -> None:
    tokens = draw_tokens(1.0, top_p=0.7)
    assert set(tokens.tolist()) == {0, 1}
    assert abs((tokens == 0).mean() - 2 / 3) < 0.03


def test_tiny_temperature_is_greedy() -> None:
    assert set(draw_tokens(1e-30).tolist()) == {0}
    assert set(draw_tokens(0).tolist()) == {0}


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
    probabilities = jnp.asarray([PROBABILITIES], jnp.float32)
    assert is_in_nucleus(probabilities, top_p)[0].tolist() == expected


def test_nucleus_includes_ties() -> None:
    probabilities = jnp.asarray([[0.1, 0.5, 0.1, 0.3]], jnp.float32)
    assert is_in_nucleus(probabilities, 0.85)[0].tolist() == [True, True, True, True]


def test_noise_depends_on_prompt_sample_seed() -> None:
    prompt = Prompt("a", [1])
    keys = [
        noise_key(prompt, 0),
        noise_key(prompt, 1),
        noise_key(Prompt("a", [1], sample=1), 0),
        noise_key(Prompt("b", [1]), 0),
    ]
    assert len({tuple(key.tolist()) for key in keys}) == 4
    assert noise_key(Prompt("a", [2, 3]), 0).tolist() == keys[0].tolist()
