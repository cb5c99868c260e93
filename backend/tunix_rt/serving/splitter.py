r"""Find stop strings and separate reasoning from answer while streaming.

<reasoning>\n6*7=42\n</reasoning>\n<answer>42</answer>   ->   reasoning "6*7=42", content "42"

The markup style defines the marks. A chunk may end anywhere, even inside a tag. Marks and the white space
around them belong to neither part. In styles that start with a tag, text without marks is content and is left
unchanged; in the others, everything before the answer mark is reasoning.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tunix_rt.traces.types import MARKUPS, MarkupStyle


def partial_mark_length(text: str, marks: Iterable[str]) -> int:
    """How many characters at the end of `text` may be the start of a mark.

    Example:
        "6*7=42 <ans", ["<answer>"] -> 4
    """
    longest = max((len(mark) for mark in marks), default=0) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-size:]) and len(mark) > size for mark in marks):
            return size
    return 0


class StopFinder:
    """Passes text through up to the first stop string, which is dropped with everything after it.

    The first stop is the one that is complete first, so the result does not depend on the chunk boundaries.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Stops must not be empty; without any, all text passes through."""
        self._stops = stops
        self._held = ""
        self.has_stopped = False

    def feed(self, text: str) -> str:
        """Return the text that is known to precede any stop."""
        if self.has_stopped:
            return ""
        text = self._held + text
        found = [(start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0]
        if found:
            self.has_stopped, self._held = True, ""
            return text[: min(found)[1]]
        num_final = len(text) - partial_mark_length(text, self._stops)
        self._held = text[num_final:]
        return text[:num_final]

    def finish(self) -> str:
        """Return the text that was held back as a possible stop."""
        held, self._held = self._held, ""
        return held


PartKind = Literal["reasoning", "content"]


class CompletionPart(NamedTuple):
    """New text of one part."""

    kind: PartKind
    text: str


@dataclass(frozen=True)
class _Marks:
    first: PartKind
    """The part a completion starts with."""
    begins: Mapping[str, PartKind]
    """Mark -> the part that starts after it."""
    is_braced: bool = False
    """Whether the answer ends at the matching closing brace."""


_REASONING = _Marks(
    "content",
    {"<reasoning>": "reasoning", "</reasoning>": "content", "<answer>": "content", "</answer>": "content"},
)
_MARKS: Mapping[MarkupStyle, _Marks] = {
    "reasoning": _REASONING,
    "counted": _REASONING,
    "think": _Marks("content", {"<think>": "reasoning", "</think>": "content"}),
    "boxed": _Marks("reasoning", {"\\boxed{": "content"}, is_braced=True),
    "hash": _Marks("reasoning", {"####": "content"}),
}
assert all(set(_MARKS[style].begins) == set(MARKUPS[style].reserved) for style in MARKUPS)


def starts_in_reasoning(prompt: str, style: MarkupStyle) -> bool:
    r"""Whether the chat template already ends with the opening tag.

    Example:
        "…<|im_start|>assistant\n<think>\n", "think" -> True
    """
    opening = MARKUPS[style].before_reasoning.strip()
    return bool(opening) and prompt.rstrip().endswith(opening)


class CompletionSplitter:
    """Splits a streamed completion into reasoning and content."""

    def __init__(self, style: MarkupStyle, *, is_in_reasoning: bool = False) -> None:
        """Start a completion; `is_in_reasoning` if the prompt ends with the opening tag."""
        self._marks = _MARKS[style]
        self._pattern = re.compile("|".join(map(re.escape, self._marks.begins)))
        self._kind: PartKind = "reasoning" if is_in_reasoning else self._marks.first
        self._held = ""
        self._space = ""
        self._is_after_mark = is_in_reasoning
        self._depth = 0
        self._is_escaped = False
        self._parts: list[CompletionPart] = []

    def feed(self, text: str) -> list[CompletionPart]:
        """Add text and return the parts that are final."""
        self._held += text
        while self._consume_mark():
            pass
        return self._take_parts()

    def finish(self) -> list[CompletionPart]:
        """Return what was held back, now that nothing follows."""
        self._emit(self._held)
        if self._space:
            self._parts.append(CompletionPart(self._kind, self._space))
        self._held = self._space = ""
        return self._take_parts()

    def _consume_mark(self) -> bool:
        """Emit the text before the next mark and consume the mark; False when no complete mark is left."""
        if self._depth:
            return self._consume_braced()
        found = self._pattern.search(self._held)
        if found is None:
            num_final = len(self._held) - partial_mark_length(self._held, self._marks.begins)
            self._emit(self._held[:num_final])
            self._held = self._held[num_final:]
            return False
        self._emit(self._held[: found.start()])
        self._held = self._held[found.end() :]
        self._start_part(self._marks.begins[found.group()])
        self._depth = 1 if self._marks.is_braced else 0
        return True

    def _consume_braced(self) -> bool:
        r"""Emit the text inside the braces, which may nest; `\}` does not close one."""
        for index, character in enumerate(self._held):
            if self._is_escaped or character == "\\":
                self._is_escaped = not self._is_escaped
                continue
            self._depth += (character == "{") - (character == "}")
            if not self._depth:
                self._emit(self._held[:index])
                self._held = self._held[index + 1 :]
                self._start_part("content")
                return True
        self._emit(self._held)
        self._held = ""
        return False

    def _start_part(self, kind: PartKind) -> None:
        self._kind, self._space, self._is_after_mark = kind, "", True

    def _emit(self, text: str) -> None:
        """Emit text without white space after a mark, holding back white space at the end."""
        if self._is_after_mark:
            text = text.lstrip()
        if not text:
            return
        self._is_after_mark = False
        text = self._space + text
        shown = text.rstrip()
        self._space = text[len(shown) :]
        if shown:
            self._parts.append(CompletionPart(self._kind, shown))

    def _take_parts(self) -> list[CompletionPart]:
        taken, self._parts = self._parts, []
        return taken
