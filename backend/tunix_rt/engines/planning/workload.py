"""How many steps a recipe takes, as far as it is known before the run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """Steps of the whole run, and what was assumed to count them."""

    num_steps: int | None = None
    """None when the recipe asks for epochs of a dataset that is not known here."""
    longest_example: int | None = None
    """Tokens of the longest example; None when not every example was tokenised."""
    assumptions: tuple[str, ...] = ()
