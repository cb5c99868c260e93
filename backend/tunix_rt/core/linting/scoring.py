"""The score of a trace: a product of factors that findings lower. Nothing in it grows with length."""

from collections.abc import Sequence

from tunix_rt.core.linting.answers import Support

UNCHECKABLE_ARITHMETIC = 0.7
"""A trace without a single readable claim may be right, but nothing in it was confirmed."""
SUPPORT_FACTORS: dict[Support, float] = {
    "follows": 1.0,
    "stated": 0.9,
    "undecidable": 0.8,
    "mismatch": 0.4,
    "unsupported": 0.25,
}
SIZE_PER_LINK = 12
"""For so many words and numbers, a step should share one with the prompt or what follows from it."""
MAX_SIZE_WITHOUT_LINK = 25
UNLINKED_BUT_ANSWERED = 0.3


def arithmetic_factor(num_confirmed: int, num_wrong: int) -> float:
    """Each wrong claim halves it; right claims cannot make up for a wrong one."""
    if num_wrong:
        return 0.5**num_wrong
    return 1.0 if num_confirmed else UNCHECKABLE_ARITHMETIC


def link_strength(num_shared: int, size: int) -> float:
    """How well a step of `size` words and numbers is tied to the problem; long steps need more ties."""
    return min(1.0, num_shared / max(1.0, size / SIZE_PER_LINK))


def grounding_factor(
    strengths: Sequence[float], size_per_step: float, support: Support, num_nowhere: int
) -> float:
    """The mean link of the steps, lowered by numbers from nowhere.

    Short steps that share no word with the prompt (`o, l, l, e, h`) keep a little when the answer is in them.
    """
    mean = sum(strengths) / len(strengths)
    if support in ("follows", "stated") and size_per_step <= MAX_SIZE_WITHOUT_LINK:
        mean = max(mean, UNLINKED_BUT_ANSWERED)
    return mean * max(0.5, 0.9**num_nowhere)


def substance_factor(num_steps: int, num_hollow: int, *, is_truncated: bool) -> float:
    """The share of steps that say something."""
    return (num_steps - num_hollow) / num_steps * (0.8 if is_truncated else 1.0)


def safety_factor(*, has_unsafe_markup: bool, leaks_answer: bool) -> float:
    """Text that training could not use as it is."""
    return (0.5 if has_unsafe_markup else 1.0) * (0.5 if leaks_answer else 1.0)
