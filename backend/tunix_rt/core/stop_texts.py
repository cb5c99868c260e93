"""Texts at which a completion is cut, found while it is still being written."""

from collections.abc import Iterable, Sequence


def num_held_back(text: str, marks: Iterable[str]) -> int:
    """How many characters at the end of `text` may yet become one of the marks.

    Example:
        "6*7=42 <ans", ["<answer>"] -> 4
    """
    longest = max((len(mark) for mark in marks), default=0) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-size:]) and len(mark) > size for mark in marks):
            return size
    return 0


class StopFinder:
    """Lets a text through up to the first stop, which is dropped with all that follows.

    The first is the one that is complete first: so it never matters in which pieces the text comes.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Take texts that are not empty; without any, everything goes through."""
        self._stops = stops
        self._held = ""
        self.has_stopped = False

    def feed(self, text: str) -> str:
        """The text that certainly comes before any stop."""
        if self.has_stopped:
            return ""
        text = self._held + text
        found = [(start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0]
        if found:
            self.has_stopped, self._held = True, ""
            return text[: min(found)[1]]
        num_sure = len(text) - num_held_back(text, self._stops)
        self._held = text[num_sure:]
        return text[:num_sure]

    def finish(self) -> str:
        """What was held back and has not become a stop."""
        held, self._held = self._held, ""
        return held
