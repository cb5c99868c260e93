"""Which token comes next: the most likely one, or one that is drawn.

A draw needs one number between 0 and 1. All numbers of a completion are known when it begins: they follow
from its seed, key and sample, one for each place. So no draw depends on a batch, a device or its neighbours.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tunix_rt.core.evaluation.protocol import Decoding


@dataclass(frozen=True)
class Choice:
    """How tokens are chosen."""

    temperature: float
    top_p: float

    @classmethod
    def of(cls, decoding: Decoding) -> "Choice":
        """The part of a decoding that one step needs."""
        return cls(decoding.temperature, decoding.top_p)

    @property
    def is_greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature == 0


def draws_of(keys: Iterable[NDArray[np.uint32]], num_places: int) -> Tensor:
    """The numbers in [0, 1) that decide the draws of completions, float32 [R, num_places].

    Args:
        keys: What `noise_key` gives, one for each completion.
        num_places: Tokens of a row. More of them change none of the numbers before.
    """
    return torch.from_numpy(np.stack([_stream(key).random(num_places, np.float32) for key in keys]))


def choose_tokens(choice: Choice, logits: Tensor, draws: Tensor) -> Tensor:
    """The next token of every row, int64 [B].

    Args:
        choice: Greedy, or temperature and top-p.
        logits: float32 [B, V].
        draws: A number in [0, 1) for each row [B].
    """
    if choice.is_greedy:
        return logits.argmax(dim=-1)
    # The best is 0 before the division, so that no temperature is too low for the format.
    scaled = (logits - logits.amax(dim=-1, keepdim=True)) / choice.temperature
    probabilities = torch.softmax(scaled, dim=-1)
    if choice.top_p < 1:
        probabilities = probabilities.where(is_in_nucleus(probabilities, choice.top_p), 0.0)
    # float64: a sum over a large vocabulary must not lose its unlikely tokens, nor fall by rounding.
    cumulative = probabilities.cumsum(dim=-1, dtype=torch.float64)
    thresholds = draws[:, None].double() * cumulative[:, -1:]
    chosen = torch.searchsorted(cumulative, thresholds, right=True).squeeze(1)
    # Where logits are not numbers, no place is found; the row is told to have failed.
    return chosen.clamp(max=logits.shape[-1] - 1)


def is_in_nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Mark the fewest most likely tokens that together have `top_p`, and those as likely as the last: [B, V].

    Example:
        [0.5, 0.3, 0.1, 0.1] with top_p 0.7 -> [True, True, False, False]
    """
    ordered = probabilities.sort(dim=-1, descending=True).values
    has_enough = ordered.cumsum(dim=-1) >= top_p
    # The last one where rounding keeps the whole sum below top_p.
    num_needed = (~has_enough).sum(dim=-1, keepdim=True).clamp(max=probabilities.shape[-1] - 1)
    return probabilities >= ordered.gather(-1, num_needed)


def _stream(key: NDArray[Any]) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key.tobytes())))
