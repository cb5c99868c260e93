"""Prompts by the shapes that serve them: few, so that few programs are compiled and few graphs captured.

A prompt's shapes follow from its own length alone: its neighbours never change what is computed for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tunix_rt.engines.generation import Prompt

_SMALLEST = 32
_LARGEST_WITHOUT_QUARTERS = 512


@dataclass(frozen=True)
class Task:
    """A prompt with how long it may become."""

    prompt: Prompt
    length: int
    """Tokens of prompt and completion together, at most."""
    seed: int = 0
    """Of the noise."""

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens that are given."""
        return len(self.prompt.token_ids)

    @property
    def num_new_tokens(self) -> int:
        """Tokens that may be written."""
        return self.length - self.num_prompt_tokens

    @property
    def prompt_size(self) -> int:
        """Tokens that its prompt is filled up to."""
        return size_for(self.num_prompt_tokens)

    @property
    def num_slots(self) -> int:
        """Slots of the cache in which it fits, and its prompt as it is read."""
        return max(slots_for(self.length), self.prompt_size)


def size_for(num_tokens: int) -> int:
    """The next power of two, at least 32.

    Example:
        5 -> 32, 130 -> 256
    """
    return max(_SMALLEST, power_of_two_above(num_tokens))


def slots_for(num_tokens: int) -> int:
    """The same; above 512 also the quarters between two powers of two, since every token looks at all slots.

    Example:
        5 -> 32, 130 -> 256, 544 -> 640
    """
    size = size_for(num_tokens)
    if size <= _LARGEST_WITHOUT_QUARTERS:
        return size
    quarter = size // 8
    return -(-num_tokens // quarter) * quarter


def grouped(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    """The tasks by slots of the cache, longest prompts first: what does not fit shows at once."""
    ordered = sorted(tasks, key=lambda task: (task.num_slots, task.num_prompt_tokens), reverse=True)
    for _, group in groupby(ordered, key=lambda task: task.num_slots):
        yield list(group)


def next_to_admit(waiting: Sequence[Task], num_rows: int) -> list[Task]:
    """The first of those that wait, as many as share a prompt size."""
    candidates = waiting[:num_rows]
    return [task for task in candidates if task.prompt_size == candidates[0].prompt_size]


def power_of_two_below(number: int) -> int:
    """The largest power of two that is not above it; 1 for what is below 1."""
    return 1 << max(0, number.bit_length() - 1) if number > 0 else 1


def power_of_two_above(number: int) -> int:
    """The smallest power of two that is not below it."""
    return 1 << max(0, number - 1).bit_length()
